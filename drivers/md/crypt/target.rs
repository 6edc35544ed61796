// SPDX-License-Identifier: GPL-2.0

//! The answers to the device mapper core, and the ways of bios.
//!
//! A read goes to the device and is decrypted where it is when it comes back. A write gets a copy,
//! which is encrypted and goes to the device. Where that work is done depends on its size: what is
//! small is done at once, where the bio is, since handing it to another thread costs more than the
//! work itself; what is large goes to a queue, so that several CPUs share it. Small reads that
//! complete in an interrupt wait for a thread together.

use crate::{
    construct::{
        make_queues,
        mode_of,
        vectors_of, //
    },
    convert::{
        Converter,
        Mode,
        Numbering, //
    },
    environment::Kernel,
    flight::Flight,
    layout::{
        self,
        Splitting, //
    },
    options::{
        Flags,
        Tag, //
    },
    params,
    request,
    secret::Keeper,
    status::Table,
    table::{
        self,
        Config, //
    },
    tagged::Tagged,
    way::Way,
    LOG, //
};
use core::{
    convert::Infallible,
    num::NonZeroU32,
    sync::atomic::{
        AtomicU32,
        Ordering, //
    },
};
use dm::{
    bio::{
        plugged,
        Batch,
        BlockStatus,
        Decision,
        Handed,
        MapBio,
        Op,
        Owned,
        Sorter, //
    },
    context::{
        relax,
        Kind,
        MaySleep, //
    },
    crypto::skcipher::{
        Direction,
        Window, //
    },
    target::{
        args::{
            Args,
            TableError, //
        },
        device::Device,
        limits::Limits,
        status::Status,
        with_text,
        Construction,
        Features,
        Messages,
        Operations,
        Target,
        Visitor,
        Word, //
    },
    workqueue::{
        self,
        OwnedQueue, //
    },
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

/// The version of the C target whose features these are.
const VERSION: [u32; 3] = [1, 29, 0];

/// The small reads that one thread decrypts if it has company.
const SHARE: usize = 16;

/// The environment of the parser, whose types the table is made of.
pub(crate) type Env = Kernel<'static>;

/// A crypt device.
pub(crate) struct Crypt {
    // Hot: read for each bio.
    pub(crate) converter: Converter,
    pub(crate) window: Option<Window<Flight>>,
    pub(crate) device: Device,
    start: u64,
    splitting: Splitting,
    pub(crate) flags: Flags,
    pub(crate) queue: OwnedQueue,
    pub(crate) io_queue: OwnedQueue,
    shared: bool,
    zoned: bool,
    /// The writes that are on `queue`, or with an engine.
    pub(crate) encrypting: AtomicU32,
    // Cold.
    key: Keeper,
    cipher: KVec<u8>,
    tag: Option<Tag<KVec<u8>>>,
    mac_key_size_given: bool,
}

impl Crypt {
    fn new(ti: &Construction<'_>, config: Config<Kernel<'_>>) -> Result<Self, TableError> {
        let no_memory = with_text(Self::MESSAGES.no_memory);
        let numbering = Numbering {
            iv_offset: config.iv_offset,
            sector_size: config.sector_size,
            iv_large_sectors: config.flags.iv_large_sectors,
        };
        let token = ti.may_sleep();
        let mode = match (config.tuple, config.iv) {
            (Some(tuple), iv) => {
                let (ciphers, size) = (&config.cipher, config.iv_size);
                let vectors = vectors_of(iv)?;
                Tagged::new(tuple, vectors, size, ciphers, &numbering, token)
                    .map(Mode::Tagged)
                    .map_err(with_text(c"Cannot allocate integrity tags mempool"))?
            }
            (None, iv) => mode_of(iv)?,
        };
        let converter = Converter::new(config.cipher, numbering, mode, config.iv_size, token)
            .map_err(with_text(c"Cannot allocate crypt request mempool"))?;
        let window = converter
            .window(token)
            .map_err(with_text(c"Cannot allocate crypt request mempool"))?;
        let (queue, io_queue) = make_queues(ti, &config.flags)?;
        let key = table::Key {
            bytes: config.key.bytes,
            reference: config.key.reference,
            layout: config.key.layout,
            authenc: config.key.authenc,
        };
        Ok(Self {
            splitting: Splitting {
                sector_size: config.sector_size,
                logical_block_size: config.device.logical_block_size(),
                page_size: PAGE_SIZE as u32,
                has_tag: config.tag.is_some(),
            },
            converter,
            window,
            device: config.device,
            start: config.start,
            flags: config.flags,
            queue,
            io_queue,
            shared: workqueue::online_cpus() > 1,
            zoned: config.zoned,
            encrypting: AtomicU32::new(0),
            key: Keeper::new(key, config.iv_size).map_err(no_memory)?,
            cipher: config.cipher_string,
            tag: config.tag,
            mac_key_size_given: config.mac_key_size_given,
        })
    }

    fn with_table<R>(&self, f: impl FnOnce(&Table<'_>) -> R) -> R {
        self.key.show(|key| {
            f(&Table {
                cipher: &self.cipher,
                key,
                layout: self.key.layout(),
                iv_offset: self.converter.numbering.iv_offset,
                device: self.device.name().to_bytes(),
                start: self.start,
                flags: self.flags,
                tag: self.tag.as_ref().map(|tag| Tag {
                    size: tag.size,
                    profile: &*tag.profile,
                }),
                sector_size: self.converter.numbering.sector_size,
                mac_key_size_given: self.mac_key_size_given,
            })
        })
    }

    /// Returns the sector on the device of a sector of the target.
    #[inline]
    pub(crate) fn below(&self, sector: u64) -> u64 {
        self.start.wrapping_add(sector)
    }

    /// Returns how many sectors of a bio are handled at a time.
    #[inline]
    pub(crate) fn max_sectors(&self, write: bool, whole: bool) -> u32 {
        let limit = match write {
            true => params::max_write_size.get(),
            false => params::max_read_size.get(),
        };
        self.splitting
            .max_sectors(NonZeroU32::new(limit), write, whole)
    }

    /// Decrypts a read where it is, and ends it.
    #[inline]
    fn decrypt<'a>(
        &self,
        ti: &Target,
        bio: Owned<'a, Self>,
        token: Option<MaySleep<'_>>,
    ) -> Handed<'a> {
        let data = (bio.cursor(), bio.cursor());
        let sector = ti.offset(bio.sector());
        let result = self
            .converter
            .convert(Direction::Decrypt, data, sector, token);
        match result {
            // A thread can wait for the new key.
            Err(error) if error == EAGAIN && token.is_none() => bio.queue(&self.queue),
            result => bio.end(status_of(result)),
        }
    }

    /// Encrypts a write into a copy.
    #[inline]
    fn encrypt(
        &self,
        ti: &Target,
        bio: &mut Owned<'_, Self>,
        token: Option<MaySleep<'_>>,
    ) -> core::result::Result<(), Failure> {
        if !bio.has_copy() {
            bio.make_copy(token).map_err(|_| Failure::Later)?;
        }
        let data = (bio.cursor(), bio.copy_cursor());
        let sector = ti.offset(bio.sector());
        self.converter
            .convert(Direction::Encrypt, data, sector, token)
            .map_err(|error| match error == EAGAIN && token.is_none() {
                true => Failure::Later,
                false => Failure::Cipher,
            })
    }

    #[inline]
    pub(crate) fn submit_copy<'a>(&self, ti: &Target, bio: Owned<'a, Self>) -> Handed<'a> {
        let sector = self.below(ti.offset(bio.sector()));
        bio.submit_copy(&self.device, sector)
    }

    /// Has a write encrypted by a thread.
    fn queue_write<'a>(&self, bio: Owned<'a, Self>) -> Handed<'a> {
        self.encrypting.fetch_add(1, Ordering::Relaxed);
        bio.queue(&self.queue)
    }

    /// Encrypts a write in a thread, and sends it on.
    fn work_on_write<'a>(
        &self,
        ti: &Target,
        mut bio: Owned<'a, Self>,
        token: MaySleep<'_>,
    ) -> Handed<'a> {
        let result = self.encrypt(ti, &mut bio, Some(token));
        self.encrypted(ti, bio, result.is_ok())
    }

    /// Sends a write on that was on `queue`.
    pub(crate) fn encrypted<'a>(&self, ti: &Target, bio: Owned<'a, Self>, ok: bool) -> Handed<'a> {
        let alone = self.encrypting.fetch_sub(1, Ordering::Relaxed) == 1;
        if !ok {
            return bio.end(BlockStatus::IO_ERROR);
        }
        // An engine finishes in an interrupt.
        if (alone || self.flags.submit_from_crypt_cpus) && Kind::current() == Kind::Thread {
            return self.submit_copy(ti, bio);
        }
        // Threads finish in any order. Who sends what is ready sorts it first.
        bio.batch_on(&self.io_queue)
    }

    fn map_write<'a>(&self, ti: &Target, mut bio: Owned<'a, Self>) -> Handed<'a> {
        if !self.encrypts_here(bio.bytes()) {
            return self.queue_write(bio);
        }
        match self.encrypt(ti, &mut bio, None) {
            Ok(()) => self.submit_copy(ti, bio),
            Err(Failure::Later) => self.queue_write(bio),
            Err(Failure::Cipher) => bio.end(BlockStatus::IO_ERROR),
        }
    }
}

/// Why a write was not encrypted.
pub(crate) enum Failure {
    /// There was no memory for a copy, or a key is being changed: a thread can wait.
    Later,
    /// The cipher failed, or the data is not in sectors.
    Cipher,
}

/// All errors of a conversion are the device's.
#[inline]
pub(crate) fn status_of(result: Result) -> BlockStatus {
    match result {
        Ok(()) => BlockStatus::OK,
        Err(_) => BlockStatus::IO_ERROR,
    }
}

#[vtable]
impl Operations for Crypt {
    type PerBio = ();
    type Job = Infallible;

    const VERSION: [u32; 3] = VERSION;
    const FEATURES: Features = Features::ZONED.and(Features::ATOMIC_WRITES);
    const MESSAGES: Messages = Messages {
        prefix: c"crypt",
        no_memory: c"Cannot allocate encryption context",
    };
    const SECRET_WORD: Option<usize> = Some(table::KEY);
    const SECRET_MESSAGE_WORD: Option<usize> = Some(2);

    fn ctr(ti: &Construction<'_>, words: &[Word]) -> Result<Self, TableError> {
        let config = table::parse(Args::new(words), &mut Kernel { ti })?;
        if config.zoned {
            // Vectors depend on where data goes, which one who appends does not know.
            ti.emulate_zone_append();
        }
        request::check(ti, &config.device, config.tuple.is_some(), config.zoned)?;
        ti.accept_flushes();
        ti.limit_swap();
        if config.flags.allow_discards {
            ti.accept_discards();
        }
        Self::new(ti, config)
    }

    fn map<'a>(&self, ti: &Target, mut bio: MapBio<'a, Self>) -> Decision<'a> {
        let sector = ti.offset(bio.sector());
        let (write, op) = (bio.is_write(), bio.op());
        if bio.is_flush() {
            return bio.remap(&self.device, 0);
        }
        if op == Op::Discard || bio.sectors() == 0 {
            return bio.remap(&self.device, self.below(sector));
        }
        // The core splits writes to zones: it has to know where each of them ends.
        let whole = bio.is_atomic() || (self.zoned && write);
        let max = self.max_sectors(write, whole);
        if bio.sectors() > max {
            if whole {
                return bio.kill();
            }
            bio.accept_partial(max);
        }
        let size = self.converter.numbering.sector_size;
        if !layout::is_aligned(bio.sector(), bio.sectors() << 9, size) {
            return bio.kill();
        }
        if let Some(tagged) = self.converter.tagged() {
            return self.map_tagged(ti, bio, tagged);
        }
        let bio = bio.take(());
        match write {
            true => self.map_write(ti, bio).into(),
            false => bio.submit(&self.device, self.below(sector)).into(),
        }
    }

    fn complete<'a>(&self, ti: &Target, bio: Owned<'a, Self>) -> Handed<'a> {
        let status = bio.status();
        if bio.is_write() || !status.is_ok() {
            return bio.end(status);
        }
        match self.way_of_read(bio.bytes()) {
            Way::Here => self.decrypt(ti, bio, None),
            Way::SoftIrq => bio.batch_in_softirq(),
            Way::Together => bio.batch_on(&self.io_queue),
            Way::Thread => bio.queue(&self.queue),
        }
    }

    fn batch(&self, ti: &Target, bios: Batch<Self>) {
        let thread = Kind::current() == Kind::Thread;
        let mut writes = None;
        for (index, bio) in bios.enumerate() {
            let Handed { .. } = if bio.has_copy() {
                writes.get_or_insert_with(Sorter::new).push(bio);
                continue;
            } else if thread && self.shared && index >= SHARE {
                bio.queue(&self.queue)
            } else {
                self.decrypt(ti, bio, None)
            };
            if thread {
                relax();
            }
        }
        let Some(writes) = writes else { return };
        plugged(|| {
            for bio in writes.sorted() {
                let Handed { .. } = self.submit_copy(ti, bio);
            }
        });
    }

    fn work<'a>(&self, ti: &Target, bio: Owned<'a, Self>, token: MaySleep<'_>) -> Handed<'a> {
        if let Some(tagged) = self.converter.tagged() {
            return self.work_on_tagged(ti, bio, tagged, token);
        }
        if let Some(window) = &self.window {
            return self.take_off(ti, bio, window, token);
        }
        match bio.is_write() {
            true => self.work_on_write(ti, bio, token),
            false => self.decrypt(ti, bio, Some(token)),
        }
    }

    fn preresume(&self, _ti: &Target, _: MaySleep<'_>) -> Result {
        if self.key.is_valid() {
            return Ok(());
        }
        LOG.error(format_args!("aborting resume - crypt key is not set."));
        Err(EAGAIN)
    }

    fn resume(&self, _ti: &Target, _: MaySleep<'_>) {
        self.key.set_suspended(false);
    }

    fn postsuspend(&self, _ti: &Target, _: MaySleep<'_>) {
        self.key.set_suspended(true);
    }

    fn message(&self, _ti: &Target, words: &[Word], token: MaySleep<'_>) -> Result {
        self.key.message(words, &self.converter, token)
    }

    fn status_info(&self, _ti: &Target, _status: &mut Status<'_>) {}

    fn status_table(&self, _ti: &Target, status: &mut Status<'_>) {
        self.with_table(|table| table.emit(status));
    }

    fn status_ima(&self, ti: &Target, status: &mut Status<'_>) {
        let name = ti.type_name().to_bytes();
        self.with_table(|table| table.emit_ima(status, name, VERSION));
    }

    fn zones(&self) -> (&Device, u64) {
        (&self.device, self.start)
    }

    fn iterate_devices(&self, ti: &Target, visitor: &mut Visitor<'_>) -> i32 {
        visitor.visit(&self.device, self.start, ti.len())
    }

    fn io_hints(&self, ti: &Target, limits: &mut Limits) {
        limits.stack_block_size(self.converter.numbering.sector_size.bytes());
        limits.align_memory_to_blocks();
        if self.zoned {
            limits.cap_bytes(layout::MAX_PAGES.saturating_mul(PAGE_SIZE as u32));
        }
        limits.cap_atomic_writes(layout::MAX_PAGES.saturating_mul(PAGE_SIZE as u32));
        if ti.takes_requests() {
            self.limit_requests(limits);
        }
    }
}
