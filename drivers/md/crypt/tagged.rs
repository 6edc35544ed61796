// SPDX-License-Identifier: GPL-2.0

//! Sectors with metadata: a tag that authenticates them, a vector that was random, or both.
//!
//! Data of reads comes into memory of ours first, so that nobody can change it between the check
//! and the use, nor see it if the check fails. Each sector is put together with what else is
//! authenticated in one piece of memory: the number of the sector, the vector, the data, the tag.

use crate::{
    convert::{
        Ciphers,
        Numbering, //
    },
    iv::Counter,
    layout::{
        write_aad,
        Tuple,
        AAD_SECTOR_SIZE, //
    },
};
use dm::{
    alloc,
    bio::{
        Cursor,
        TagPool, //
    },
    context::MaySleep,
    crypto::{
        aead,
        skcipher::{
            self,
            Direction, //
        },
    },
    reserve::Reserve,
    secret,
    workqueue, //
};
use kernel::prelude::*;

/// How the vectors of a device with metadata come about.
#[derive(Clone, Copy)]
pub(crate) enum Vectors {
    /// There are none.
    None,
    /// By a formula of the sector.
    Counter(Counter),
    /// They are random, and stored.
    Random,
}

/// What a device with metadata needs besides its ciphers.
pub(crate) struct Tagged {
    tuple: Tuple,
    vectors: Vectors,
    iv_size: usize,
    pub(crate) pool: TagPool,
    rooms: Reserve<Room>,
}

/// The memory of a request.
enum Workspace {
    Plain(skcipher::Workspace),
    Aead(aead::Workspace),
}

/// Where a sector is converted.
struct Room {
    workspace: Workspace,
    /// What is authenticated before the data, the data, and the tag.
    bytes: KVec<u8>,
}

impl Tagged {
    pub(crate) fn new(
        tuple: Tuple,
        vectors: Vectors,
        iv_size: u32,
        ciphers: &Ciphers,
        numbering: &Numbering,
        token: MaySleep<'_>,
    ) -> Result<Self> {
        let iv_size = iv_size as usize;
        let sectors = tuple.pool_sectors(numbering.sector_size);
        let entry = tuple.bytes(sectors, numbering.sector_size).ok_or(EINVAL)?;
        let parts = [
            AAD_SECTOR_SIZE,
            iv_size,
            numbering.sector_size.bytes() as usize,
            tuple.tag_size as usize,
        ];
        let len = parts
            .into_iter()
            .try_fold(0_usize, usize::checked_add)
            .ok_or(EINVAL)?;
        let count = workqueue::online_cpus();
        let mut rooms = alloc::with_capacity(count as usize, GFP_KERNEL)?;
        for _ in 0..count {
            let room = Room {
                workspace: ciphers.workspace(token)?,
                bytes: KVec::from_elem(0, len, GFP_KERNEL)?,
            };
            rooms.push(room, GFP_KERNEL)?;
        }
        Ok(Self {
            tuple,
            vectors,
            iv_size,
            pool: TagPool::new(entry as usize, token)?,
            rooms: Reserve::new(rooms, token)?,
        })
    }

    /// Returns the bytes of metadata of so many sectors of 512 bytes.
    pub(crate) fn bytes(&self, numbering: &Numbering, sectors: u32) -> Option<usize> {
        Some(self.tuple.bytes(sectors, numbering.sector_size)? as usize)
    }

    /// Returns the sectors whose metadata fits in a piece of the reserve.
    pub(crate) fn reserved_sectors(&self, numbering: &Numbering) -> u32 {
        self.tuple.pool_sectors(numbering.sector_size)
    }

    /// Converts all data of `src`, which starts at `sector` of the target, into `dst`, with its
    /// metadata.
    ///
    /// # Errors
    ///
    /// The sector, and `EBADMSG` if a tag is wrong; `EIO` if a sector is not in one piece of
    /// memory; or an error of the cipher.
    pub(crate) fn convert(
        &self,
        (ciphers, numbering): (&Ciphers, &Numbering),
        direction: Direction,
        (mut src, mut dst): (Cursor<'_>, Cursor<'_>),
        sector: u64,
        tags: &mut [u8],
        token: MaySleep<'_>,
    ) -> core::result::Result<(), (u64, Error)> {
        let mut room = self.rooms.take(token);
        let mut numbers = numbering.from(sector);
        let size = numbering.sector_size;
        let mut at = sector;
        let mut index = 0_u32;
        while let (Some(from), Some(to)) = (src.segment(), dst.segment()) {
            let (counted, number) = numbers.next();
            let mut one = Sector {
                tagged: self,
                ciphers,
                room: &mut room,
                sector: at,
                counted,
                number,
                token,
            };
            let tuple = self
                .tuple
                .at(index)
                .and_then(|range| tags.get_mut(range))
                .ok_or((at, EIO))?;
            if from.len().min(to.len()) < size.bytes() as usize {
                return Err((at, EIO));
            }
            let result = one.convert(size.bytes() as usize, tuple, direction, |data, done| {
                match done {
                    false => from.copy_to(data),
                    true => to.copy_from(data),
                };
            });
            result.map_err(|error| (at, error))?;
            src.advance(size.bytes());
            dst.advance(size.bytes());
            at = at.wrapping_add(size.sectors().into());
            index = index.wrapping_add(1);
        }
        Ok(())
    }
}

/// A sector that is being converted.
struct Sector<'a> {
    tagged: &'a Tagged,
    ciphers: &'a Ciphers,
    room: &'a mut Room,
    sector: u64,
    counted: u64,
    number: u64,
    token: MaySleep<'a>,
}

impl Sector<'_> {
    /// Calls `copy` with the place for the data before, and with `true` after the conversion.
    fn convert(
        &mut self,
        size: usize,
        tuple: &mut [u8],
        direction: Direction,
        copy: impl Fn(&mut [u8], bool),
    ) -> Result {
        let iv_size = self.tagged.iv_size;
        let mut iv = [0; skcipher::MAX_IV_SIZE];
        let iv = iv.get_mut(..iv_size).ok_or(EIO)?;
        self.vector(iv, tuple, direction)?;
        let associated = AAD_SECTOR_SIZE.wrapping_add(iv_size);
        let room = &mut *self.room;
        let (aad, rest) = room.bytes.split_at_mut_checked(associated).ok_or(EIO)?;
        write_aad(self.sector, iv, aad);
        let (data, tag) = rest.split_at_mut_checked(size).ok_or(EIO)?;
        copy(data, false);
        let range = self.tagged.tuple.tag();
        if direction == Direction::Decrypt {
            tag.copy_from_slice(tuple.get(range.clone()).ok_or(EIO)?);
        }
        match &mut room.workspace {
            Workspace::Plain(workspace) => {
                let cipher = self.ciphers.of(self.counted).ok_or(EIO)?;
                let iv = iv.get_mut(..cipher.iv_size()).ok_or(EIO)?;
                workspace
                    .request(self.token)
                    .in_place(cipher, direction, data, iv)?;
            }
            Workspace::Aead(workspace) => {
                let cipher = self.ciphers.aead().ok_or(EIO)?;
                let iv = iv.get(..cipher.iv_size()).ok_or(EIO)?;
                let (bytes, token) = (&mut room.bytes, self.token);
                workspace.in_place(cipher, direction, bytes, associated, iv, token)?;
            }
        }
        let (data, tag) = room
            .bytes
            .get_mut(associated..)
            .and_then(|rest| rest.split_at_mut_checked(size))
            .ok_or(EIO)?;
        copy(data, true);
        if direction == Direction::Encrypt {
            tuple.get_mut(range).ok_or(EIO)?.copy_from_slice(tag);
            let rest = self.tagged.tuple.rest();
            tuple.get_mut(rest).ok_or(EIO)?.fill(0);
        }
        Ok(())
    }

    /// Makes the vector, and keeps it in the tuple, or takes it from there.
    fn vector(&self, iv: &mut [u8], tuple: &mut [u8], direction: Direction) -> Result {
        match (self.tagged.vectors, direction) {
            (Vectors::None, _) => (),
            (Vectors::Counter(counter), _) => counter.write(self.number, iv),
            (Vectors::Random, Direction::Encrypt) => {
                secret::fill_random(iv);
                let stored = tuple.get_mut(self.tagged.tuple.iv()).ok_or(EIO)?;
                stored.copy_from_slice(iv);
            }
            (Vectors::Random, Direction::Decrypt) => {
                iv.copy_from_slice(tuple.get(self.tagged.tuple.iv()).ok_or(EIO)?);
            }
        }
        Ok(())
    }
}

impl Ciphers {
    fn workspace(&self, token: MaySleep<'_>) -> Result<Workspace> {
        Ok(match self {
            Self::Plain(ciphers) => Workspace::Plain(skcipher::Workspace::new(
                ciphers.first().ok_or(EINVAL)?,
                token,
            )?),
            Self::Aead(aead) => Workspace::Aead(aead::Workspace::new(aead, token)?),
        })
    }
}
