// SPDX-License-Identifier: GPL-2.0

//! The answers to the device mapper core.

use crate::{
    corruption::Corruptions,
    environment::{
        detach,
        Kernel, //
    },
    fec::Fec,
    hash_tree::{
        Blocks,
        Geometry, //
    },
    hasher::Hasher,
    options::Options,
    params,
    prefetch::Prefetch,
    progress::Progress,
    statistics::{
        Count,
        Statistics, //
    },
    status::{
        emit_info,
        Table, //
    },
    table::{
        self,
        Hashing, //
    },
    LOG, //
};
use core::{
    mem,
    sync::atomic::AtomicBool, //
};
use dm::{
    bio::{
        Batch,
        BlockStatus,
        Decision,
        Handed,
        MapBio,
        Owned, //
    },
    bufio,
    context::{
        need_resched,
        Kind,
        MaySleep, //
    },
    io,
    log::RateLimit,
    mempool::PagePool,
    reboot, security,
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
        Forward,
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
use kernel::prelude::*;

/// The version of the C target whose features these are.
const VERSION: [u32; 3] = [1, 13, 0];

/// Where the class is in an I/O priority, `IOPRIO_CLASS_SHIFT`.
const IOPRIO_CLASS_SHIFT: u32 = 13;

/// The environment of the parser, whose types the table is made of.
pub(crate) type Env = Kernel<'static>;

/// What is kept with each hash block in the cache: whether its digest was found right.
#[derive(Default)]
pub(crate) struct HashBlock {
    pub(crate) verified: AtomicBool,
}

/// A verity device.
pub(crate) struct Verity {
    // Hot: read for each bio.
    pub(crate) geometry: Geometry,
    pub(crate) hashing: Hashing<Env>,
    pub(crate) options: Options<Env>,
    pub(crate) hashes: bufio::Client<HashBlock>,
    pub(crate) queue: OwnedQueue,
    pub(crate) data_device: Device,
    pub(crate) statistics: Statistics,
    // Cold: only for bad blocks and for the status.
    pub(crate) corruptions: Corruptions,
    pub(crate) io: io::Client,
    pub(crate) recheck_pages: PagePool,
    pub(crate) fec: Option<Fec>,
    hash_device: Device,
}

impl Verity {
    #[inline]
    pub(crate) fn hasher(&self) -> Hasher<'_> {
        Hasher {
            algorithm: &self.hashing.hash,
            salt: &self.hashing.salt,
            salted: self.hashing.state.as_ref(),
        }
    }

    /// Returns the first sector (512 bytes) of a data block.
    #[inline]
    pub(crate) fn data_sector(&self, block: u64) -> u64 {
        block << self.geometry.data_block().sector_bits()
    }

    /// Returns the data blocks of a bio, or says in the log what is wrong with it.
    #[inline]
    fn blocks_of(&self, sector: u64, bio: &MapBio<'_, Self>) -> Option<Blocks> {
        static LIMIT: RateLimit = RateLimit::new();

        match self.geometry.data_blocks_of(sector, bio.sectors()) {
            Ok(blocks) => Some(blocks),
            Err(text) => {
                LOG.error_limited(
                    &LIMIT,
                    format_args!("{}", text.to_str().unwrap_or_default()),
                );
                None
            }
        }
    }

    fn table(&self) -> Table<'_> {
        Table {
            version: self.hashing.version,
            data_device: self.data_device.name().to_bytes(),
            hash_device: self.hash_device.name().to_bytes(),
            sizes: self.geometry.sizes(),
            algorithm: &self.hashing.name,
            root_digest: &self.hashing.root_digest,
            salt: &self.hashing.salt,
            corruption: self.options.corruption,
            error: self.options.error,
            ignore_zero_blocks: self.options.zero_digest.is_some(),
            check_at_most_once: self.options.validated.is_some(),
            try_verify_in_tasklet: self.options.try_verify_in_tasklet,
            fec: self.fec.as_ref().map(Fec::table),
            signature_key: self.options.signature.as_ref().map(|key| &*key.description),
        }
    }
}

#[vtable]
impl Operations for Verity {
    type PerBio = Progress;
    type Job = Prefetch;

    const VERSION: [u32; 3] = VERSION;
    // Security modules depend on both.
    const FEATURES: Features = Features::SINGLETON
        .and(Features::IMMUTABLE)
        .and(Features::NOWAIT);
    const MESSAGES: Messages = Messages {
        prefix: c"verity",
        no_memory: c"Cannot allocate verity structure",
    };

    fn ctr(ti: &Construction<'_>, words: &[Word]) -> Result<Self, TableError> {
        let token = ti.may_sleep();
        let (data_device, hash_device, geometry, hashing, mut options) =
            detach(table::parse(Args::new(words), &mut Kernel { ti })?);
        let recheck_pages =
            PagePool::new(1, token).map_err(with_text(c"Cannot allocate mempool"))?;
        let io = io::Client::new(token).map_err(with_text(c"Cannot allocate dm io"))?;
        let hashes = bufio::Client::new(&hash_device, geometry.hash_block().bytes(), 1, token)
            .map_err(with_text(c"Cannot initialize dm-bufio"))?;
        geometry.check_hash_device(hashes.device_blocks())?;
        let flags =
            workqueue::Flags::MEM_RECLAIM | workqueue::Flags::HIGHPRI | workqueue::Flags::PERCPU;
        let queue = OwnedQueue::new(c"kverityd", flags, token)
            .map_err(with_text(c"Cannot allocate workqueue"))?;
        let statistics =
            Statistics::new(ti).map_err(with_text(c"Cannot allocate verity structure"))?;
        let parity = mem::take(&mut options.parity);
        let fec = Fec::new(parity, &geometry, &data_device, &hashes, token)?;
        Ok(Self {
            geometry,
            hashing,
            options,
            hashes,
            queue,
            data_device,
            statistics,
            corruptions: Corruptions::new(),
            io,
            recheck_pages,
            fec,
            hash_device,
        })
    }

    fn map<'a>(&self, ti: &Target, bio: MapBio<'a, Self>) -> Decision<'a> {
        let sector = ti.offset(bio.sector());
        let Some(blocks) = self.blocks_of(sector, &bio) else {
            return bio.kill();
        };
        if bio.is_write() {
            return bio.kill();
        }
        self.prefetch(&bio, blocks);
        bio.take(Progress::new(blocks))
            .submit(&self.data_device, sector)
            .into()
    }

    fn complete<'a>(&self, _ti: &Target, bio: Owned<'a, Self>) -> Handed<'a> {
        let status = bio.status();
        if !status.is_ok() {
            let failed = status != BlockStatus::AGAIN;
            return match failed && self.may_be_repaired(&bio) {
                true => bio.queue(&self.queue),
                false => self.finish(bio, status),
            };
        }
        match Kind::current() {
            // The device was so fast that whoever wants the data is still here.
            Kind::Task => match bio.batch_in_plug() {
                Ok(handed) => handed,
                Err(bio) => self.verify_here(bio, Count::Task),
            },
            kind if self.options.try_verify_in_tasklet && self.suits_softirq(&bio) => match kind {
                Kind::Thread => self.verify_here(bio, Count::Task),
                _ => bio.batch_in_softirq(),
            },
            _ => bio.batch_on(&self.queue),
        }
    }

    fn batch(&self, _ti: &Target, bios: Batch<Self>) {
        let count = match Kind::current() {
            Kind::Task => Count::Task,
            Kind::Thread => Count::Queue,
            Kind::SoftIrq | Kind::HardIrq => Count::Softirq,
        };
        self.verify_batch(bios, count);
    }

    fn queue(&self) -> &OwnedQueue {
        &self.queue
    }

    fn work<'a>(&self, ti: &Target, mut bio: Owned<'a, Self>, token: MaySleep<'_>) -> Handed<'a> {
        if bio.data().restart {
            self.restart_after_error(token);
            return bio.abandon();
        }
        let result = self.verify(ti, &mut bio, token);
        self.finish(bio, result.into())
    }

    fn job(&self, _ti: &Target, job: Prefetch, token: MaySleep<'_>) {
        job.run(self, token);
    }

    fn preresume(&self, ti: &Target, token: MaySleep<'_>) -> Result {
        let digest = &self.hashing.root_digest;
        security::set_verity_root_digest(ti, digest, self.hashing.hash.name(), token)?;
        let signature = self.options.signature.as_ref().map(|key| &*key.signature);
        security::set_verity_signature(ti, signature, token)
            .inspect_err(|_| security::clear_verity_root_digest(ti, token))
    }

    fn postsuspend(&self, _ti: &Target, token: MaySleep<'_>) {
        self.queue.flush(token);
        self.hashes.sleepable(token).reset();
        if let Some(fec) = &self.fec {
            fec.reset(token);
        }
    }

    fn status_info(&self, _ti: &Target, status: &mut Status<'_>) {
        let corrected = self.fec.as_ref().map(Fec::corrected);
        emit_info(status, self.corruptions.any(), corrected);
    }

    fn status_table(&self, _ti: &Target, status: &mut Status<'_>) {
        self.table().emit(status);
    }

    fn status_ima(&self, ti: &Target, status: &mut Status<'_>) {
        let name = ti.type_name().to_bytes();
        self.table()
            .emit_ima(status, name, VERSION, self.corruptions.any());
    }

    fn prepare_ioctl(&self, ti: &Target) -> Forward<'_> {
        Forward {
            device: &self.data_device,
            whole: ti.len() == self.data_device.sectors(),
        }
    }

    fn iterate_devices(&self, ti: &Target, visitor: &mut Visitor<'_>) -> i32 {
        visitor.visit(&self.data_device, 0, ti.len())
    }

    fn io_hints(&self, _ti: &Target, limits: &mut Limits) {
        limits.stack_block_size(self.geometry.data_block().bytes());
        limits.align_memory_to_blocks();
    }
}

impl Verity {
    /// Verifies a bio at once.
    #[inline]
    fn verify_here<'a>(&self, bio: Owned<'a, Self>, count: Count) -> Handed<'a> {
        let (batch, handed) = bio.alone();
        self.verify_batch(batch, count);
        handed
    }

    /// Returns whether a bio is to be verified in softirq.
    #[inline]
    fn suits_softirq(&self, bio: &Owned<'_, Self>) -> bool {
        let class = usize::from(bio.priority() >> IOPRIO_CLASS_SHIFT);
        let small = params::use_bh_bytes
            .get(class)
            .is_some_and(|max| bio.bytes() <= max);
        if !small {
            self.statistics.add(Count::TooLarge, 1);
            return false;
        }
        if need_resched() {
            self.statistics.add(Count::Busy, 1);
            return false;
        }
        true
    }

    /// Returns whether the blocks of a bio that a device failed are worth a repair.
    #[cold]
    fn may_be_repaired(&self, bio: &Owned<'_, Self>) -> bool {
        self.fec.is_some() && !bio.is_read_ahead() && !reboot::is_going_down()
    }

    /// Ends a bio, unless the table says to stop the machine at an I/O error.
    pub(crate) fn finish<'a>(&self, mut bio: Owned<'a, Self>, status: BlockStatus) -> Handed<'a> {
        if status.is_ok() || status == BlockStatus::AGAIN || !self.stops_at_error(&bio) {
            return bio.end(status);
        }
        // The bio does not end: the machine restarts.
        bio.data_mut().restart = true;
        bio.queue(&self.queue)
    }
}
