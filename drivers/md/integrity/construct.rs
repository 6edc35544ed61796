// SPDX-License-Identifier: GPL-2.0

//! Making a device from a table: the volume is opened, or made.

use crate::{
    bitmaps::Bitmaps,
    environment::Kernel,
    failure::Failure,
    inline::Inline,
    journal_area::Area,
    layout::Layout,
    ring::Ring,
    settings::Settings,
    state::Locked,
    superblock::SALT,
    superblock_io::SuperblockFile,
    table::{
        self,
        Config,
        Mode, //
    },
    tagger::Tagger,
    tags::Tags,
    target::{
        Integrity,
        Queues, //
    },
    volume::{
        Request,
        Volume, //
    },
};
use core::sync::atomic::AtomicBool;
use dm::{
    bufio::Store,
    context::MaySleep,
    crypto::shash::Hash,
    io::{
        self,
        Write, //
    },
    mempool::PagePool,
    secret,
    target::{
        args::{
            Args,
            TableError, //
        },
        device::Device,
        with_text,
        Construction,
        Word, //
    },
    workqueue::{
        Flags,
        OwnedQueue, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

impl Queues {
    fn new(token: MaySleep<'_>) -> Result<Self, TableError> {
        let queue = |name| {
            let flags = Flags::MEM_RECLAIM | Flags::PERCPU;
            OwnedQueue::new(name, flags, token).map_err(with_text(c"Cannot allocate workqueue"))
        };
        Ok(Self {
            metadata: queue(c"dm-integrity-metadata")?,
            wait: queue(c"dm-integrity-wait")?,
            offload: queue(c"dm-integrity-offload")?,
            commit: queue(c"dm-integrity-commit")?,
            writer: queue(c"dm-integrity-writer")?,
            recalculation: queue(c"dm-integrity-recalc")?,
        })
    }
}

/// The devices and the cipher-like things of a table, and what it takes to use them.
struct Parts {
    mode: Mode,
    device: Device,
    meta_device: Option<Device>,
    hash: Option<Hash>,
    mac: Option<Arc<Hash>>,
    io: io::Client,
    recheck_pages: PagePool,
    inline: Option<Inline>,
    queues: Queues,
    failure: Failure,
    file: SuperblockFile,
}

impl Parts {
    fn new(
        config: Config<Kernel<'_>>,
        token: MaySleep<'_>,
    ) -> Result<(Self, Settings), TableError> {
        let no_context = with_text(c"Cannot allocate integrity context");
        let (mode, device, start) = (config.mode, config.device, config.devices.start);
        let mac = match config.journal_mac {
            Some(mac) => Some(Arc::new(mac, GFP_KERNEL).map_err(|e| no_context(e.into()))?),
            None => None,
        };
        let mut settings = Settings::new(config.options);
        let io = io::Client::new(token).map_err(with_text(c"Cannot allocate dm io"))?;
        let recheck_pages =
            PagePool::new(1, token).map_err(with_text(c"Cannot allocate mempool"))?;
        let inline = match mode {
            Mode::Inline => Some(
                Inline::new(config.tuple_bytes, token)
                    .map_err(with_text(c"Cannot allocate bio set"))?,
            ),
            _ => None,
        };
        let queues = Queues::new(token)?;
        let meta_device = settings.meta_device.take();
        let metadata = meta_device.as_ref().unwrap_or(&device).clone();
        let has_meta_device = meta_device.is_some();
        let file = SuperblockFile::new(metadata, start, mode, has_meta_device, mac.clone())
            .map_err(with_text(c"Cannot allocate superblock area"))?;
        let parts = Self {
            mode,
            device,
            meta_device,
            hash: config.internal_hash,
            mac,
            io,
            recheck_pages,
            inline,
            queues,
            failure: Failure::new(),
            file,
        };
        Ok((parts, settings))
    }

    /// The device with the metadata.
    fn metadata(&self) -> &Device {
        self.meta_device.as_ref().unwrap_or(&self.device)
    }

    /// Opens the volume that is there, or finds out how a new one is to be.
    fn open(&self, request: &Request, token: MaySleep<'_>) -> Result<Volume, TableError> {
        let salt = || {
            let mut salt = [0; SALT];
            secret::fill_random(&mut salt);
            salt
        };
        self.file
            .read(&self.io, &self.failure, token, |area| {
                Volume::open(area, request, salt)
            })
            .map_err(with_text(c"Error reading superblock"))?
    }

    fn store(&self, layout: &Layout, token: MaySleep<'_>) -> Result<Store, TableError> {
        let bytes = 512_u32.wrapping_shl(layout.log2_buffer_sectors().into());
        Store::new(self.metadata(), layout.tags_start(), bytes, 1, token)
            .map_err(with_text(c"Cannot initialize dm-bufio"))
    }

    fn area(
        &self,
        layout: &Layout,
        salt: Option<[u8; SALT]>,
        settings: &Settings,
        token: MaySleep<'_>,
    ) -> Result<Option<Area>, TableError> {
        if matches!(self.mode, Mode::Recovery | Mode::Inline) {
            return Ok(None);
        }
        let (journal, start) = (*layout.journal(), layout.journal_start());
        let (mac, metadata) = (self.mac.clone(), self.metadata().clone());
        let mut area = Area::new(journal, mac, salt, metadata, start, token)
            .map_err(with_text(c"Could not allocate memory for journal"))?;
        if let Some(algorithm) = &settings.journal_crypt {
            area.encrypt(algorithm, &self.failure, token)?;
        }
        Ok(Some(area))
    }

    fn bitmaps(&self, volume: &Volume) -> Result<Option<Bitmaps>, TableError> {
        if self.mode != Mode::Bitmap {
            return Ok(None);
        }
        Bitmaps::new(&volume.bitmap)
            .map(Some)
            .map_err(with_text(c"Could not allocate memory for bitmap"))
    }
}

impl Integrity {
    /// Makes a device. May sleep.
    pub(crate) fn construct(ti: &Construction<'_>, words: &[Word]) -> Result<Self, TableError> {
        let token = ti.may_sleep();
        let config = table::parse(Args::new(words), &mut Kernel { ti })?;
        let request = config.request(ti.len());
        let (parts, mut settings) = Parts::new(config, token)?;
        let volume = parts.open(&request, token)?;
        settings.set_journal(volume.layout.journal());
        let integrity = Self::with_volume(parts, settings, volume, token)?;
        if volume.new {
            integrity.format(token)?;
        }
        integrity.announce(ti)?;
        Ok(integrity)
    }

    fn with_volume(
        parts: Parts,
        settings: Settings,
        volume: Volume,
        token: MaySleep<'_>,
    ) -> Result<Self, TableError> {
        let (layout, superblock) = (volume.layout, volume.superblock);
        let salt = superblock.has_fixed_hmac().then_some(superblock.salt);
        let tags = Tags::new(parts.store(&layout, token)?, &layout, settings.discards);
        let area = parts.area(&layout, salt, &settings, token)?;
        let ring = Ring::new(*layout.journal(), parts.mode == Mode::Journal)
            .map_err(with_text(c"Could not allocate memory for journal tree"))?;
        let bitmaps = parts.bitmaps(&volume)?;
        let state =
            Locked::new(superblock, ring).map_err(with_text(c"Cannot allocate superblock copy"))?;
        let tag_bytes = layout.tag_size().bytes().into();
        Ok(Self {
            mode: parts.mode,
            takes_tags: parts.hash.is_none(),
            tagger: parts.hash.map(|hash| Tagger::new(hash, tag_bytes, salt)),
            failure: parts.failure,
            state,
            tags,
            area,
            bitmaps,
            device: parts.device,
            settings,
            meta_device: parts.meta_device,
            io: parts.io,
            recheck_pages: parts.recheck_pages,
            inline: parts.inline,
            file: parts.file,
            bitmap: volume.bitmap,
            opened: superblock,
            just_formatted: AtomicBool::new(volume.new),
            journal_current: AtomicBool::new(false),
            journal_used: AtomicBool::new(false),
            is_synchronous: AtomicBool::new(false),
            queues: parts.queues,
            layout,
        })
    }

    /// Writes an empty journal, and the superblock.
    fn format(&self, token: MaySleep<'_>) -> Result<(), TableError> {
        self.erase_area(token);
        self.failure
            .get()
            .map_err(with_text(c"Error initializing journal"))?;
        let how = Write::Through;
        self.file
            .write(&self.io, self.opened, how, &self.failure, token)
            .map_err(with_text(c"Error initializing superblock"))
    }

    /// Sets what the core has to know of the target.
    fn announce(&self, ti: &Construction<'_>) -> Result<(), TableError> {
        let limit = |sectors: u64| {
            ti.set_max_io_len(sectors)
                .map_err(with_text(c"Invalid maximum I/O length"))
        };
        if let Some(sectors) = self.max_io_sectors() {
            limit(sectors.into())?;
        }
        ti.want_flushes();
        if self.settings.has_discards() {
            ti.want_discards();
        }
        Ok(())
    }
}
