// SPDX-License-Identifier: GPL-2.0

//! The target `bufio-store`: what is written to it are programs that write through the cache, and
//! what is read comes through the cache.
//!
//! The table line is `<device> <start> <block size> <reserved buffers>`. A write, wherever it
//! goes, is a [program](crate::program) of its own; it fails if one of the steps does not do as it
//! says. Reads of the device, and of the one below, tell what came of it.

use crate::{
    program::Machine,
    table::Cache,
    LOG, //
};
use core::convert::Infallible;
use dm::{
    bio::{
        Cursor,
        Decision,
        Handed,
        MapBio,
        Owned, //
    },
    bufio::Store,
    context::MaySleep,
    target::{
        args::{
            Args,
            TableError, //
        },
        device::Device,
        status::Status,
        with_text,
        Access,
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
use kernel::prelude::*;

/// What is copied at once.
const CHUNK: usize = 512;

/// The device.
pub(crate) struct StoreTest {
    store: Store,
    queue: OwnedQueue,
    device: Device,
    start: u64,
}

/// What a bio is for.
pub(crate) struct Job {
    sector: u64,
    is_program: bool,
}

#[vtable]
impl Operations for StoreTest {
    type PerBio = Job;
    type Job = Infallible;

    const VERSION: [u32; 3] = [1, 0, 0];
    const FEATURES: Features = Features::NONE;
    const MESSAGES: Messages = Messages {
        prefix: c"bufio-store",
        no_memory: c"Cannot allocate bufio-store structure",
    };

    fn ctr(ti: &Construction<'_>, words: &[Word]) -> Result<Self, TableError> {
        let token = ti.may_sleep();
        let mut args = Args::new(words);
        let cache = Cache::parse(ti, &mut args, Access::Table)?;
        let (size, reserved) = (cache.block_size, cache.reserved);
        let store = Store::new(&cache.device, cache.start, size, reserved, token)
            .map_err(with_text(c"Cannot initialize bufio"))?;
        let flags = workqueue::Flags::MEM_RECLAIM | workqueue::Flags::UNBOUND;
        let queue = OwnedQueue::new(c"test_bufio_store", flags, token)
            .map_err(with_text(c"Cannot allocate workqueue"))?;
        Ok(Self {
            store,
            queue,
            device: cache.device,
            start: cache.start,
        })
    }

    fn map<'a>(&self, ti: &Target, bio: MapBio<'a, Self>) -> Decision<'a> {
        let job = Job {
            sector: ti.offset(bio.sector()),
            is_program: bio.is_write(),
        };
        bio.take(job).queue(&self.queue).into()
    }

    // No bio goes to the device.
    fn complete<'a>(&self, _ti: &Target, bio: Owned<'a, Self>) -> Handed<'a> {
        let status = bio.status();
        bio.end(status)
    }

    fn work<'a>(&self, _ti: &Target, bio: Owned<'a, Self>, token: MaySleep<'_>) -> Handed<'a> {
        let result = match bio.data().is_program {
            true => self.run(bio.cursor(), token),
            false => self.read(bio.cursor(), bio.data().sector, token),
        };
        bio.end(result.into())
    }

    fn status_info(&self, _ti: &Target, _status: &mut Status<'_>) {}

    fn status_table(&self, _ti: &Target, _status: &mut Status<'_>) {}

    fn status_ima(&self, _ti: &Target, _status: &mut Status<'_>) {}

    fn iterate_devices(&self, ti: &Target, visitor: &mut Visitor<'_>) -> kernel::ffi::c_int {
        visitor.visit(&self.device, self.start, ti.len())
    }
}

impl StoreTest {
    /// Runs the program that is the data of a bio.
    fn run(&self, mut cursor: Cursor<'_>, token: MaySleep<'_>) -> Result {
        let len = cursor.remaining() as usize;
        let mut program = dm::alloc::zeroed::<u8>(len, GFP_KERNEL)?;
        cursor.copy_to(&mut program)?;
        let mut machine = Machine::new(self.store.blocks(token));
        machine.run(&program).map_err(|failure| {
            LOG.error(format_args!(
                "step {} ({:?}) returned {}",
                failure.step,
                char::from(failure.operation),
                failure.errno
            ));
            EIO
        })
    }

    /// Fills a bio with what is in the cache.
    fn read(&self, mut cursor: Cursor<'_>, sector: u64, token: MaySleep<'_>) -> Result {
        let blocks = self.store.blocks(token);
        let size = self.store.block_size() as u64;
        let mut byte = sector.checked_mul(512).ok_or(EIO)?;
        while cursor.remaining() > 0 {
            let block = byte.checked_div(size).ok_or(EIO)?;
            let offset = byte.checked_rem(size).ok_or(EIO)?;
            let mut chunk = [0; CHUNK];
            blocks.hold(block)?.read(offset as usize, &mut chunk)?;
            byte = byte.saturating_add(CHUNK as u64);
            cursor.copy_from(&chunk)?;
        }
        Ok(())
    }
}
