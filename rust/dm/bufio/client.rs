// SPDX-License-Identifier: GPL-2.0

//! The users of the cache.

use super::{
    buffer::{
        Buffer,
        NewBuffer, //
    },
    cache::Cache,
    memory::Shape,
    registry,
    Aux, //
};
use crate::{
    context::MaySleep,
    log::Log,
    target::device::Device, //
};
use core::{
    fmt,
    marker::PhantomData,
    ops::Range, //
};
use kernel::prelude::*;

const LOG: Log = Log::new(c"device-mapper: bufio");

/// A cache of the blocks of one device, with data of type `A` for each.
///
/// What can be called on a client itself, and on its buffers, never sleeps and takes no lock, so
/// that it can be called in any context. [`Client::sleepable`] gives the rest to whoever may
/// sleep. The device stays open as long as the client lives.
///
/// To be dropped where sleeping is allowed: that waits for the reads in flight.
///
/// # Invariants
///
/// `cache` is registered, and all its buffers are objects with data of type `A`.
pub struct Client<A: Aux> {
    cache: Pin<KBox<Cache>>,
    _aux: PhantomData<A>,
}

impl<A: Aux> Client<A> {
    /// Makes a client for blocks of `block_size` bytes. May sleep.
    ///
    /// `reserved` buffers are allocated at once, and never given up. As many blocks can be held
    /// by one thread without a danger of waiting for itself.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if the block size is no multiple of 512, or more than 1 MiB.
    /// - `ENOMEM`.
    pub fn new(
        device: &Device,
        block_size: u32,
        reserved: u32,
        token: MaySleep<'_>,
    ) -> Result<Self> {
        Self::with_start(device, 0, block_size, reserved, token)
    }

    /// Makes a client as [`new`](Self::new) does, whose block 0 starts at `start` (sectors of
    /// 512 bytes) of the device. May sleep.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_start(
        device: &Device,
        start: u64,
        block_size: u32,
        reserved: u32,
        _: MaySleep<'_>,
    ) -> Result<Self> {
        let block_size = block_size as usize;
        if block_size == 0 || block_size % 512 != 0 {
            LOG.error(fmt!("block size not specified or is not multiple of 512b"));
            return Err(EINVAL);
        }
        let shape = Shape::new::<A>(block_size)?;
        let cache = Cache::new(device, shape, start, reserved as usize, None)?;
        // SAFETY: It is pinned, and removed when it is dropped.
        unsafe { registry::add(&cache) };
        // INVARIANT: Registered above, with a shape for `A`.
        Ok(Self {
            cache,
            _aux: PhantomData,
        })
    }

    /// Returns the block if it is in the cache. Any context; takes no lock and never waits.
    #[inline]
    pub fn get(&self, block: u64) -> Option<Buffer<'_, A>> {
        let head = self.cache.get(block)?;
        // SAFETY: It is valid, `get` took a reference, and by the type invariants it has an `A`.
        Some(unsafe { Buffer::from_raw(&self.cache, head) })
    }

    /// Returns whether all blocks of a range are in the cache, or on their way. Any context.
    ///
    /// This is cheaper than getting them, and does not count as a use.
    #[inline]
    pub fn contains(&self, range: Range<u64>) -> bool {
        self.cache.first_missing(range).is_none()
    }

    /// The bytes of a block.
    #[inline]
    pub fn block_size(&self) -> usize {
        self.cache.shape.block_size
    }

    /// The number of whole blocks of the device. Any context.
    pub fn device_blocks(&self) -> u64 {
        self.cache.device_blocks()
    }

    /// Returns what can be done with the client where sleeping is allowed.
    #[inline]
    pub fn sleepable<'c>(&'c self, token: MaySleep<'c>) -> Sleepable<'c, A> {
        Sleepable {
            client: self,
            token,
        }
    }
}

impl<A: Aux> Drop for Client<A> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants.
        unsafe { registry::remove(&self.cache) };
    }
}

impl<A: Aux> fmt::Debug for Client<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("block_size", &self.block_size())
            .finish_non_exhaustive()
    }
}

/// A client in a context that may sleep.
///
/// None of this may be called below a `submit_bio` that collects bios, as in `map`: it warns
/// once, and fails or does nothing.
pub struct Sleepable<'c, A: Aux> {
    client: &'c Client<A>,
    token: MaySleep<'c>,
}

impl<A: Aux> Clone for Sleepable<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Aux> Copy for Sleepable<'_, A> {}

impl<'c, A: Aux> Sleepable<'c, A> {
    /// Returns the client.
    #[inline]
    pub fn client(&self) -> &'c Client<A> {
        self.client
    }

    /// Returns a block, and reads it if it is not in the cache. `ioprio` is the priority of the
    /// I/O, 0 for none.
    ///
    /// # Errors
    ///
    /// The error of the device, which is forgotten at once: the next read tries again.
    #[inline]
    pub fn read(&self, block: u64, ioprio: u16) -> Result<Buffer<'c, A>> {
        self.read_around(block, block..block, ioprio)
    }

    /// Returns a block as [`read`](Self::read) does. If it is not in the cache, those blocks of
    /// `around` that are missing too are read on the occasion: neighbours with the same bio. This
    /// does not wait for them, and their errors do not matter.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_around(
        &self,
        block: u64,
        around: Range<u64>,
        ioprio: u16,
    ) -> Result<Buffer<'c, A>> {
        let cache = &self.client.cache;
        let head = cache.read(block, around, ioprio, self.token)?;
        // SAFETY: It is valid, `read` took a reference, and it has an `A`.
        Ok(unsafe { Buffer::from_raw(cache, head) })
    }

    /// Starts to read those of `count` blocks from `first` on that are missing, neighbours with
    /// the same bio.
    ///
    /// Does not wait for them, and stops where there is no memory. If nothing is missing, that
    /// costs little: see [`Client::contains`].
    pub fn prefetch(&self, first: u64, count: u64, ioprio: u16) {
        let range = first..first.saturating_add(count);
        self.client.cache.prefetch(range, ioprio, self.token);
    }

    /// Returns a block to be filled, without reading it. Waits until nobody else holds it, so
    /// the caller must not.
    ///
    /// # Errors
    ///
    /// `EINVAL` where bios are submitted.
    pub fn new_block(&self, block: u64) -> Result<NewBuffer<'c, A>> {
        let cache = &self.client.cache;
        let head = cache.produce(block, self.token)?;
        // SAFETY: `produce` made it busy with the caller as the producer, and it has an `A`.
        Ok(unsafe { NewBuffer::from_raw(cache, head) })
    }

    /// Drops those blocks of a range from the cache that nobody holds.
    pub fn forget(&self, range: Range<u64>) {
        self.client.cache.forget_range(range);
    }

    /// Waits for the reads in flight, and drops all blocks that nobody holds.
    pub fn reset(&self) {
        self.client.cache.reset(self.token);
    }
}
