// SPDX-License-Identifier: GPL-2.0

//! The answers to the device mapper core.

use crate::{
    bitmap,
    bitmaps::Bitmaps,
    environment::ticks_per_second,
    failure::Failure,
    inline::Inline,
    journal_area::Area,
    layout::Layout,
    options::to_milliseconds,
    progress::Progress,
    settings::Settings,
    state::Locked,
    status::{
        emit_info,
        Table, //
    },
    superblock::Superblock,
    superblock_io::SuperblockFile,
    table::Mode,
    tagger::Tagger,
    tags::Tags,
    LOG, //
};
use core::{
    convert::Infallible,
    sync::atomic::AtomicBool, //
};
use dm::{
    bio::{
        Decision,
        Handed,
        MapBio,
        Op,
        Owned, //
    },
    context::MaySleep,
    io,
    mempool::PagePool,
    secret::Secret,
    target::{
        args::TableError,
        device::Device,
        limits::Limits,
        status::Status,
        Construction,
        Features,
        Messages,
        Operations,
        Target,
        Visitor,
        Word, //
    },
    workqueue::OwnedQueue, //
};
use kernel::prelude::*;

/// The version of the C target whose features these are.
const VERSION: [u32; 3] = [1, 15, 0];

/// The tasks.
pub(crate) const COMMIT: usize = 0;
pub(crate) const WRITE_OUT: usize = 1;
pub(crate) const RECALCULATE: usize = 2;
pub(crate) const FLUSH_BITMAP: usize = 3;
pub(crate) const MARK_BITMAP: usize = 4;

/// The queues, for what may not wait for each other: bios that have waited, bios that go on, tags,
/// commits, and what is written out or computed anew.
pub(crate) struct Queues {
    pub(crate) metadata: OwnedQueue,
    pub(crate) wait: OwnedQueue,
    pub(crate) offload: OwnedQueue,
    pub(crate) commit: OwnedQueue,
    pub(crate) writer: OwnedQueue,
    pub(crate) recalculation: OwnedQueue,
}

/// An integrity device.
pub(crate) struct Integrity {
    // Read for each bio.
    pub(crate) mode: Mode,
    pub(crate) layout: Layout,
    pub(crate) tagger: Option<Tagger>,
    /// Whether tags come with bios, and are read with them.
    pub(crate) takes_tags: bool,
    pub(crate) failure: Failure,
    pub(crate) state: Locked,
    pub(crate) tags: Tags,
    pub(crate) area: Option<Area>,
    pub(crate) bitmaps: Option<Bitmaps>,
    pub(crate) device: Device,
    pub(crate) settings: Settings,
    // Read seldom.
    pub(crate) meta_device: Option<Device>,
    pub(crate) io: io::Client,
    pub(crate) recheck_pages: PagePool,
    pub(crate) inline: Option<Inline>,
    pub(crate) file: SuperblockFile,
    pub(crate) bitmap: bitmap::Geometry,
    /// The superblock that the layout is of.
    pub(crate) opened: Superblock,
    pub(crate) just_formatted: AtomicBool,
    /// Whether the ring is as the journal on the disk.
    pub(crate) journal_current: AtomicBool,
    /// Whether anything was written to the journal since the device was resumed.
    pub(crate) journal_used: AtomicBool,
    /// Whether writes are to last when they end, since the machine is about to stop.
    pub(crate) is_synchronous: AtomicBool,
    pub(crate) queues: Queues,
}

impl Integrity {
    /// The most sectors of a bio, a power of two, of which none crosses a multiple.
    pub(crate) fn max_io_sectors(&self) -> Option<u32> {
        self.layout.max_io_sectors(&self.bitmap)
    }

    /// Returns whether a bio may be mapped; if not, says in the log why.
    pub(crate) fn is_allowed(&self, sector: u64, bio: &MapBio<'_, Self>) -> bool {
        if let Err(error) = self.layout.check_io(sector, bio.sectors()) {
            LOG.error(format_args!("{error}"));
            return false;
        }
        if bio.op() != Op::Discard && !bio.is_aligned_to(self.layout.block().bytes()) {
            LOG.error(fmt!(
                "Bio vector is not aligned on {}-sector boundary",
                self.layout.block().sectors()
            ));
            return false;
        }
        let Some(given) = bio.metadata_bytes() else {
            return true;
        };
        if self.tagger.is_some() {
            LOG.error(fmt!("Unexpected integrity data when using internal hash"));
            return false;
        }
        let blocks = self.layout.block().blocks_in(bio.sectors().into());
        let wanted = blocks.saturating_mul(self.layout.tag_size().bytes().into());
        if u64::from(given) != wanted {
            LOG.error(fmt!(
                "Invalid integrity data size {}, expected {}",
                given,
                wanted
            ));
        }
        u64::from(given) == wanted
    }

    /// Cuts a discard off where a bio of data would be cut.
    fn cut_discard(&self, sector: u64, bio: &mut MapBio<'_, Self>) {
        let Some(max) = self.max_io_sectors() else {
            return;
        };
        let before = sector as u32 & max.wrapping_sub(1);
        bio.accept_partial(max.saturating_sub(before));
    }

    fn table<R>(&self, f: impl FnOnce(Table<'_, Secret>) -> R) -> R {
        let superblock = self.state.lock().superblock;
        let settings = &self.settings;
        f(Table {
            device: self.device.name().to_bytes(),
            meta_device: self.meta_device.as_ref().map(|d| d.name().to_bytes()),
            superblock: &superblock,
            layout: &self.layout,
            bitmap: &self.bitmap,
            reset_recalculate: settings.reset_recalculate,
            discards: settings.discards,
            legacy_recalculate: settings.legacy_recalculate,
            free_threshold: settings.free_threshold,
            commit_time: settings.commit_time,
            bitmap_flush_interval: to_milliseconds(settings.bitmap_flush_ticks, ticks_per_second()),
            internal_hash: settings.internal_hash.as_ref(),
            journal_crypt: settings.journal_crypt.as_ref(),
            journal_mac: settings.journal_mac.as_ref(),
        })
    }
}

#[vtable]
impl Operations for Integrity {
    type PerBio = Progress;
    type Job = Infallible;

    const VERSION: [u32; 3] = VERSION;
    const FEATURES: Features = Features::SINGLETON.and(Features::INTEGRITY);
    const MESSAGES: Messages = Messages {
        prefix: c"integrity",
        no_memory: c"Cannot allocate integrity context",
    };
    const TASKS: usize = 5;

    fn ctr(ti: &Construction<'_>, words: &[Word]) -> Result<Self, TableError> {
        Self::construct(ti, words)
    }

    fn map<'a>(&self, ti: &Target, mut bio: MapBio<'a, Self>) -> Decision<'a> {
        if let Some(inline) = &self.inline {
            return self.map_inline(ti, inline, bio);
        }
        let sector = ti.offset(bio.sector());
        if bio.op() == Op::Discard {
            self.cut_discard(sector, &mut bio);
        }
        if bio.is_flush() {
            let progress = Progress::new(Op::Other, false, sector, 0);
            return self.flush_later(ti, bio.take(progress)).into();
        }
        let fua = bio.op() == Op::Write && bio.take_fua();
        if !self.is_allowed(sector, &bio) {
            return bio.kill();
        }
        if self.mode == Mode::Recovery && bio.op() != Op::Read {
            return bio.kill();
        }
        let progress = Progress::new(bio.op(), fua, sector, bio.sectors());
        self.start(ti, bio.take(progress), None).into()
    }

    fn complete<'a>(&self, ti: &Target, bio: Owned<'a, Self>) -> Handed<'a> {
        match &self.inline {
            Some(_) => self.completed_inline(bio),
            None => self.completed(ti, bio),
        }
    }

    fn work<'a>(&self, ti: &Target, bio: Owned<'a, Self>, token: MaySleep<'_>) -> Handed<'a> {
        match &self.inline {
            Some(inline) => self.go_on_inline(inline, bio, token),
            None => self.go_on(ti, bio, token),
        }
    }

    fn task(&self, ti: &Target, number: usize, token: MaySleep<'_>) {
        match number {
            COMMIT => self.commit(ti, token),
            WRITE_OUT => self.write_out_committed(ti, token),
            RECALCULATE => self.recalculate(ti, token),
            FLUSH_BITMAP => self.flush_bitmap(ti, token),
            _ => self.mark_bitmap(ti, token),
        }
    }

    fn task_queue(&self, number: usize) -> &OwnedQueue {
        match number {
            COMMIT | FLUSH_BITMAP => &self.queues.commit,
            RECALCULATE => &self.queues.recalculation,
            _ => &self.queues.writer,
        }
    }

    fn reboot(&self, ti: &Target, token: MaySleep<'_>) {
        self.be_synchronous(ti, token);
    }

    fn resume(&self, ti: &Target, token: MaySleep<'_>) {
        self.resumed(ti, token);
    }

    fn postsuspend(&self, ti: &Target, token: MaySleep<'_>) {
        self.suspended(ti, token);
    }

    fn status_info(&self, _ti: &Target, status: &mut Status<'_>) {
        let recalculation = self.state.lock().superblock.recalculation();
        let provided = self.layout.provided_data_sectors();
        emit_info(status, self.failure.mismatches(), provided, recalculation);
    }

    fn status_table(&self, _ti: &Target, status: &mut Status<'_>) {
        self.table(|table| table.emit(status));
    }

    fn status_ima(&self, ti: &Target, status: &mut Status<'_>) {
        let name = ti.type_name().to_bytes();
        self.table(|table| table.emit_ima(status, name, VERSION));
    }

    fn iterate_devices(&self, ti: &Target, visitor: &mut Visitor<'_>) -> i32 {
        visitor.visit(&self.device, self.layout.data_start(), ti.len())
    }

    fn io_hints(&self, _ti: &Target, limits: &mut Limits) {
        let block = self.layout.block();
        limits.stack_block_size(block.bytes());
        limits.align_memory_to_blocks();
        limits.set_discard_granularity(block.bytes());
        let writes_at_once = matches!(self.mode, Mode::Direct | Mode::Bitmap | Mode::Inline);
        if self.tagger.is_some() && writes_at_once {
            limits.need_stable_writes();
        }
        if self.takes_tags {
            let bits = block.log2_sectors().saturating_add(9);
            limits.set_metadata(self.layout.tag_size().bytes(), bits);
        }
        limits.set_max_metadata_segments(u16::MAX);
    }
}
