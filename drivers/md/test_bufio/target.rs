// SPDX-License-Identifier: GPL-2.0

//! The answers to the device mapper core.

use crate::{
    reader::{
        Reader,
        Tag, //
    },
    table::{
        parse,
        Table,
        Usage, //
    },
};
use core::{
    convert::Infallible,
    sync::atomic::AtomicU32, //
};
use dm::{
    bio::{
        Decision,
        Handed,
        MapBio,
        Owned, //
    },
    bufio::Client,
    context::MaySleep,
    target::{
        args::TableError,
        device::Device,
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
use kernel::prelude::*;

/// A device whose data comes through the cache.
pub(crate) struct BufioTest {
    pub(crate) client: Client<Tag>,
    pub(crate) usage: Usage,
    /// Counts the blocks that were read.
    pub(crate) reads: AtomicU32,
    queue: OwnedQueue,
    device: Device,
    start: u64,
}

#[vtable]
impl Operations for BufioTest {
    /// The first sector, relative to the target.
    type PerBio = u64;
    type Job = Infallible;

    const VERSION: [u32; 3] = [1, 0, 0];
    const FEATURES: Features = Features::NONE;
    const MESSAGES: Messages = Messages {
        prefix: c"bufio-test",
        no_memory: c"Cannot allocate bufio-test structure",
    };

    fn ctr(ti: &Construction<'_>, words: &[Word]) -> Result<Self, TableError> {
        let token = ti.may_sleep();
        let Table { cache, usage } = parse(ti, words)?;
        let (size, reserved) = (cache.block_size, cache.reserved);
        let client = Client::with_start(&cache.device, cache.start, size, reserved, token)
            .map_err(with_text(c"Cannot initialize bufio"))?;
        let flags = workqueue::Flags::MEM_RECLAIM | workqueue::Flags::UNBOUND;
        let queue = OwnedQueue::new(c"test_bufio", flags, token)
            .map_err(with_text(c"Cannot allocate workqueue"))?;
        Ok(Self {
            client,
            usage,
            reads: AtomicU32::new(0),
            queue,
            device: cache.device,
            start: cache.start,
        })
    }

    fn map<'a>(&self, ti: &Target, bio: MapBio<'a, Self>) -> Decision<'a> {
        if bio.is_write() {
            return bio.kill();
        }
        let sector = ti.offset(bio.sector());
        let bio = bio.take(sector);
        if self.usage.softirq != 0 {
            let sector = self.start.saturating_add(sector);
            return bio.submit(&self.device, sector).into();
        }
        bio.queue(&self.queue).into()
    }

    fn complete<'a>(&self, _ti: &Target, bio: Owned<'a, Self>) -> Handed<'a> {
        let status = bio.status();
        if !status.is_ok() {
            return bio.end(status);
        }
        match Reader::new(self, &bio).replace() {
            true => bio.end(status),
            false => bio.queue(&self.queue),
        }
    }

    fn work<'a>(&self, _ti: &Target, bio: Owned<'a, Self>, token: MaySleep<'_>) -> Handed<'a> {
        let result = Reader::new(self, &bio).read(token);
        bio.end(result.into())
    }

    fn postsuspend(&self, _ti: &Target, token: MaySleep<'_>) {
        self.client.sleepable(token).reset();
    }

    fn status_info(&self, _ti: &Target, _status: &mut Status<'_>) {}

    fn status_table(&self, _ti: &Target, _status: &mut Status<'_>) {}

    fn status_ima(&self, _ti: &Target, _status: &mut Status<'_>) {}

    fn iterate_devices(&self, ti: &Target, visitor: &mut Visitor<'_>) -> kernel::ffi::c_int {
        visitor.visit(&self.device, self.start, ti.len())
    }
}
