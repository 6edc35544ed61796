// SPDX-License-Identifier: GPL-2.0

//! From plain text to cipher text and back.
//!
//! What a conversion needs for each sector is the number that its initialisation vector is made of,
//! and the cipher whose turn it is. Everything else is the same for all sectors of a bio, and set
//! up once.

use crate::{
    iv::Counter,
    options::SectorSize,
    special::Special,
    tagged::Tagged, //
};
use dm::{
    bio::Cursor,
    context::MaySleep,
    crypto::aead::Aead,
    crypto::skcipher::{
        self,
        Cargo,
        Cipher,
        Direction,
        Iv,
        Request,
        Window,
        Workspace,
        MAX_IV_SIZE, //
    },
    percpu_rwsem::PerCpuRwLock,
    reserve::Reserve,
    workqueue, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The most sectors that are with an engine at a time.
const IN_FLIGHT: u32 = 128;

/// The bytes of the vectors that most ciphers take.
const USUAL_IV_SIZE: usize = 16;

/// The ciphers of a device.
///
/// # Invariants
///
/// There is at least one.
pub(crate) enum Ciphers {
    /// All of one algorithm, each with a key of its own: a power of two.
    Plain(Arc<KVec<Cipher>>),
    /// One that authenticates.
    Aead(Aead),
}

impl Ciphers {
    pub(crate) fn plain(ciphers: KVec<Cipher>) -> Result<Self> {
        if ciphers.is_empty() {
            return Err(EINVAL);
        }
        // INVARIANT: Checked above.
        Ok(Self::Plain(Arc::new(ciphers, GFP_KERNEL)?))
    }

    pub(crate) fn get(&self, index: u32) -> Option<&Cipher> {
        match self {
            Self::Plain(ciphers) => ciphers.get(index as usize),
            Self::Aead(_) => None,
        }
    }

    pub(crate) fn aead(&self) -> Option<&Aead> {
        match self {
            Self::Plain(_) => None,
            Self::Aead(aead) => Some(aead),
        }
    }

    /// Returns the place of the cipher for a sector of the count that vectors are made of, before
    /// that is cut to large sectors.
    #[inline]
    fn index(ciphers: usize, sector: u64) -> usize {
        sector as usize & ciphers.wrapping_sub(1)
    }

    #[inline]
    fn of_sector<'a>(ciphers: &'a [Cipher], first: &'a Cipher, sector: u64) -> &'a Cipher {
        ciphers
            .get(Self::index(ciphers.len(), sector))
            .unwrap_or(first)
    }

    /// As [`of_sector`](Self::of_sector), without the first one at hand.
    pub(crate) fn of(&self, sector: u64) -> Option<&Cipher> {
        let ciphers = self.all();
        Some(Self::of_sector(ciphers, ciphers.first()?, sector))
    }

    /// Returns the ciphers that do not authenticate.
    #[inline]
    fn all(&self) -> &[Cipher] {
        match self {
            Self::Plain(ciphers) => ciphers,
            Self::Aead(_) => &[],
        }
    }

    pub(crate) fn first(&self) -> Option<&Cipher> {
        self.all().first()
    }

    pub(crate) fn iv_size(&self) -> usize {
        match self {
            Self::Plain(ciphers) => ciphers.first().map_or(0, Cipher::iv_size),
            Self::Aead(aead) => aead.iv_size(),
        }
    }

    pub(crate) fn block_size(&self) -> usize {
        match self {
            Self::Plain(ciphers) => ciphers.first().map_or(0, Cipher::block_size),
            Self::Aead(aead) => aead.block_size(),
        }
    }
}

/// How vectors are numbered.
pub(crate) struct Numbering {
    /// What is added to the sectors of the target.
    pub(crate) iv_offset: u64,
    /// The unit that is encrypted.
    pub(crate) sector_size: SectorSize,
    /// Whether the count is one of these units.
    pub(crate) iv_large_sectors: bool,
}

/// The number of one sector after the other.
pub(crate) struct Numbers {
    sector: u64,
    step: u64,
    shift: u32,
}

impl Numbers {
    /// Returns the count in sectors of 512 bytes, and in that of the vectors; goes on.
    #[inline]
    pub(crate) fn next(&mut self) -> (u64, u64) {
        let sector = self.sector;
        self.sector = sector.wrapping_add(self.step);
        (sector, sector.wrapping_shr(self.shift))
    }
}

impl Numbering {
    /// Starts at a sector of the target.
    #[inline]
    pub(crate) fn from(&self, sector: u64) -> Numbers {
        Numbers {
            sector: sector.wrapping_add(self.iv_offset),
            step: self.sector_size.sectors().into(),
            shift: match self.iv_large_sectors {
                true => self.sector_size.shift(),
                false => 0,
            },
        }
    }
}

/// How sectors are encrypted.
pub(crate) enum Mode {
    /// By the cipher alone.
    Plain(Option<Counter>),
    /// By more than that.
    Special(Special),
    /// With metadata, not by [`Converter::convert`].
    Tagged(Tagged),
}

/// What encrypts and decrypts.
pub(crate) struct Converter {
    pub(crate) ciphers: Ciphers,
    pub(crate) numbering: Numbering,
    /// Who converts reads it, who changes a key writes it.
    pub(crate) keys: PerCpuRwLock<()>,
    mode: Mode,
    iv_size: usize,
    /// Whether an engine does the work of the cipher, and nothing else is to be done.
    asynchronous: bool,
    /// For ciphers and modes that need more than the stack.
    rooms: Option<Reserve<Room>>,
}

/// Where a sector is converted that the cipher alone cannot do, or not at once.
pub(crate) struct Room {
    pub(crate) workspace: Workspace,
    /// Of the size of a sector.
    pub(crate) sector: KVec<u8>,
    /// For a vector: the cipher takes no memory of the stack.
    pub(crate) vector: KVec<u8>,
}

impl Converter {
    pub(crate) fn new(
        ciphers: Ciphers,
        numbering: Numbering,
        mode: Mode,
        iv_size: u32,
        token: MaySleep<'_>,
    ) -> Result<Self> {
        let asynchronous = match (&mode, ciphers.first()) {
            (Mode::Plain(_), Some(first)) => first.is_asynchronous(),
            _ => false,
        };
        let rooms = match (&mode, ciphers.first()) {
            (Mode::Plain(_), Some(first)) if first.is_quick() || asynchronous => None,
            (Mode::Tagged(_), _) => None,
            (_, first) => Some(Self::rooms(
                first.ok_or(EINVAL)?,
                numbering.sector_size,
                token,
            )?),
        };
        Ok(Self {
            ciphers,
            numbering,
            keys: PerCpuRwLock::new((), token)?,
            mode,
            iv_size: iv_size as usize,
            asynchronous,
            rooms,
        })
    }

    fn rooms(cipher: &Cipher, size: SectorSize, token: MaySleep<'_>) -> Result<Reserve<Room>> {
        let count = workqueue::online_cpus();
        let mut rooms = dm::alloc::with_capacity(count as usize, GFP_KERNEL)?;
        for _ in 0..count {
            let room = Room {
                workspace: Workspace::new(cipher, token)?,
                sector: KVec::from_elem(0, size.bytes() as usize, GFP_KERNEL)?,
                vector: KVec::from_elem(0, MAX_IV_SIZE, GFP_KERNEL)?,
            };
            rooms.push(room, GFP_KERNEL)?;
        }
        Reserve::new(rooms, token)
    }

    /// Returns whether conversions need nothing but the stack, in any context.
    #[inline]
    pub(crate) fn is_direct(&self) -> bool {
        self.rooms.is_none() && !self.asynchronous && !matches!(self.mode, Mode::Tagged(_))
    }

    /// Makes what [`send`](Self::send) needs, if that is how sectors are to be converted.
    pub(crate) fn window<K: Cargo>(&self, token: MaySleep<'_>) -> Result<Option<Window<K>>> {
        match &self.ciphers {
            Ciphers::Plain(ciphers) if self.asynchronous => {
                Window::new(ciphers.clone(), IN_FLIGHT, token).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Hands all sectors of `cargo`, the first of which is `sector` of the target, to the engine.
    /// Waits while that has too many. The cargo [arrives](Cargo::arrived) when they are converted.
    pub(crate) fn send<K: Cargo>(
        &self,
        window: &Window<K>,
        cargo: K,
        direction: Direction,
        sector: u64,
        token: MaySleep<'_>,
    ) {
        let keys = self.keys.read(token);
        let unit = self.numbering.sector_size.bytes();
        let mut numbers = self.numbering.from(sector);
        let count = self.ciphers.all().len();
        let iv_size = self.iv_size;
        let counter = match self.mode {
            Mode::Plain(counter) => counter,
            Mode::Special(_) | Mode::Tagged(_) => None,
        };
        // The closure is gone before the cargo can have arrived.
        let next = move |iv: &mut Iv| {
            let () = *keys;
            let (sector, number) = numbers.next();
            if let Some(counter) = counter {
                write_iv(counter, number, iv, iv_size);
            }
            Ciphers::index(count, sector)
        };
        window.send(cargo, direction, unit, next, token);
    }

    /// Returns what there is besides if sectors have metadata.
    #[inline]
    pub(crate) fn tagged(&self) -> Option<&Tagged> {
        match &self.mode {
            Mode::Tagged(tagged) => Some(tagged),
            Mode::Plain(_) | Mode::Special(_) => None,
        }
    }

    pub(crate) fn special(&self) -> Option<&Special> {
        match &self.mode {
            Mode::Special(special) => Some(special),
            Mode::Plain(_) | Mode::Tagged(_) => None,
        }
    }

    /// Converts all data of `src`, which starts at `sector` of the target, into `dst`, where it may
    /// be already. Any context if the conversion [is direct](Self::is_direct).
    ///
    /// # Errors
    ///
    /// `EAGAIN` if a key is being changed and the context must not sleep. `EIO` if a sector is not
    /// in one piece of memory, or if the context must not sleep and that would be needed; or an
    /// error of the cipher.
    #[inline]
    pub(crate) fn convert(
        &self,
        direction: Direction,
        (src, dst): (Cursor<'_>, Cursor<'_>),
        sector: u64,
        token: Option<MaySleep<'_>>,
    ) -> Result {
        let _keys = match token {
            Some(token) => self.keys.read(token),
            None => self.keys.try_read().ok_or(EAGAIN)?,
        };
        let Some(rooms) = &self.rooms else {
            let counter = match self.mode {
                Mode::Plain(counter) => counter,
                Mode::Special(_) | Mode::Tagged(_) => return Err(EIO),
            };
            return skcipher::on_stack(|request| {
                self.plain(request, direction, (src, dst), sector, counter)
            });
        };
        let token = token.ok_or(EIO)?;
        let mut room = rooms.take(token);
        let Room {
            workspace,
            sector: buffer,
            vector,
        } = &mut *room;
        let mut request = workspace.request(token);
        match &self.mode {
            Mode::Plain(counter) => {
                self.plain(&mut request, direction, (src, dst), sector, *counter)
            }
            Mode::Tagged(_) => Err(EIO),
            Mode::Special(special) => special.convert(
                self,
                &mut request,
                (buffer, vector),
                direction,
                (src, dst),
                sector,
            ),
        }
    }

    /// Converts by the cipher alone.
    #[inline]
    fn plain(
        &self,
        request: &mut Request<'_>,
        direction: Direction,
        (mut src, mut dst): (Cursor<'_>, Cursor<'_>),
        sector: u64,
        counter: Option<Counter>,
    ) -> Result {
        let unit = self.numbering.sector_size.bytes();
        let mut numbers = self.numbering.from(sector);
        let ciphers = self.ciphers.all();
        let first = ciphers.first().ok_or(EIO)?;
        let iv_size = self.iv_size;
        while let (Some(from), Some(to)) = (src.segment(), dst.segment()) {
            let len = (from.len().min(to.len()) as u32) & !unit.wrapping_sub(1);
            if len == 0 {
                return Err(EIO);
            }
            request.units(direction, &from, &to, unit, |iv| {
                let (sector, number) = numbers.next();
                if let Some(counter) = counter {
                    write_iv(counter, number, iv, iv_size);
                }
                Ciphers::of_sector(ciphers, first, sector)
            })?;
            src.advance(len);
            dst.advance(len);
        }
        Ok(())
    }
}

/// Writes a vector that is a formula of a number.
#[inline]
pub(crate) fn write_iv(counter: Counter, number: u64, iv: &mut Iv, size: usize) {
    if size == USUAL_IV_SIZE {
        if let Some(front) = iv.first_chunk_mut() {
            *front = counter.block(number);
        }
    } else if let Some(front) = iv.get_mut(..size) {
        counter.write(number, front);
    }
}
