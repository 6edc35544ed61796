// SPDX-License-Identifier: GPL-2.0

//! Blocks that are changed through the cache.

use super::{
    cache::Cache,
    fetch::check_context,
    partial::Partial,
    ranges::Span,
    registry, //
};
use crate::{
    bindings,
    context::MaySleep,
    log::Log,
    target::device::Device, //
};
use core::{
    fmt,
    ops::Range,
    ptr::NonNull, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

const LOG: Log = Log::new(c"device-mapper: bufio");

/// A cache of the blocks of one device, which are also changed and written through it.
///
/// Where a [`Client`](super::Client) lends the data of a block, this copies: any number of threads
/// may read and write the same block at the same time. See [`Block`] for what they see of each
/// other.
///
/// A block need not be read to be written. Its bytes are valid from the time when they were
/// written, or read because somebody wanted to see them. What is written goes to the device
/// later: when [`Blocks::write_dirty`] is called, when much of the cache is dirty, when memory is
/// wanted, or when this is dropped. Only ranges that were written are, in whole physical blocks
/// of the device; what is missing of these is read first. So a block that was wholly overwritten
/// is never read, whatever its size and however many writes it took.
///
/// The device stays open as long as the store lives. To be dropped where sleeping is allowed: that
/// writes what is dirty, and waits for all I/O.
///
/// # Examples
///
/// ```ignore
/// let store = Store::new(&device, start, 65536, 1, token)?;
///
/// // Write some tags, and read others.
/// let blocks = store.blocks(token);
/// blocks.hold(7)?.write(1024, &tags)?;
/// if blocks.hold(9)?.compare(32, &tag)?.is_some() {
///     return Err(EILSEQ);
/// }
///
/// // When the mapped device is flushed.
/// blocks.write_dirty()?;
/// ```
///
/// # Invariants
///
/// `cache` is registered, and one that is written.
pub struct Store {
    cache: Pin<KBox<Cache>>,
}

impl Store {
    /// Makes a store of blocks of `block_size` bytes, of which the first is at `start` (sectors of
    /// 512 bytes) of the device. May sleep.
    ///
    /// `reserved` buffers are allocated at once, and never given up. As many blocks can be held
    /// by one thread without a danger of waiting for itself. One more is allocated to read into.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if the block size is no multiple of 512, or more than 1 MiB.
    /// - `ENOMEM`.
    pub fn new(
        device: &Device,
        start: u64,
        block_size: u32,
        reserved: u32,
        token: MaySleep<'_>,
    ) -> Result<Self> {
        if block_size == 0 || block_size % 512 != 0 {
            LOG.error(fmt!("block size not specified or is not multiple of 512b"));
            return Err(EINVAL);
        }
        let (bytes, reserved) = (block_size as usize, reserved as usize);
        let cache = Cache::new_written(device, bytes, start, reserved, token)?;
        // SAFETY: It is pinned, and removed when it is dropped.
        unsafe { registry::add(&cache) };
        // INVARIANT: Registered above.
        Ok(Self { cache })
    }

    /// The bytes of a block.
    #[inline]
    pub fn block_size(&self) -> usize {
        self.cache.shape.block_size
    }

    /// The bytes that are written at once, a power of two: what is missing of them is read first.
    #[inline]
    pub fn unit(&self) -> usize {
        let unit = self
            .cache
            .writes
            .as_ref()
            .map(|writes| writes.geometry.unit);
        unit.unwrap_or(512) as usize
    }

    /// The number of whole blocks of the device, from the first one of the store on. Any context.
    pub fn device_blocks(&self) -> u64 {
        self.cache.device_blocks()
    }

    /// Returns what can be done with the store, all of it where sleeping is allowed.
    #[inline]
    pub fn blocks<'c>(&'c self, token: MaySleep<'c>) -> Blocks<'c> {
        Blocks {
            cache: &self.cache,
            token,
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: By the type invariants.
        unsafe { registry::remove(&self.cache) };
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("block_size", &self.block_size())
            .finish_non_exhaustive()
    }
}

/// The blocks of a store, in a context that may sleep.
///
/// None of this may be called below a `submit_bio` that collects bios, as in `map`: it warns
/// once, and fails or does nothing.
#[derive(Clone, Copy)]
pub struct Blocks<'c> {
    cache: &'c Cache,
    token: MaySleep<'c>,
}

impl<'c> Blocks<'c> {
    /// Returns a block, and reads nothing.
    ///
    /// # Errors
    ///
    /// `EINVAL` where bios are submitted.
    pub fn hold(&self, block: u64) -> Result<Block<'c>> {
        let object = self.cache.hold(block, self.token)?;
        // INVARIANT: `hold` took a reference.
        Ok(Block {
            cache: self.cache,
            object,
            token: self.token,
        })
    }

    /// Returns a block of which all bytes are in the cache. Reads those that are not: the whole
    /// block, or the missing sectors. `ioprio` is the priority of the read of a whole block, 0
    /// for none.
    ///
    /// # Errors
    ///
    /// The error of the device, which is forgotten at once: the next read tries again.
    pub fn read(&self, block: u64, ioprio: u16) -> Result<Block<'c>> {
        let around = block..block;
        let head = self.cache.read(block, around, ioprio, self.token)?;
        // INVARIANT: `read` took a reference; the cache is one that is written.
        let block = Block {
            cache: self.cache,
            object: head.cast(),
            token: self.token,
        };
        self.cache.complete(block.object(), self.token)?;
        Ok(block)
    }

    /// Starts to read those of `count` blocks from `first` on that are not in the cache, not even
    /// in parts; neighbours with the same bio.
    ///
    /// Does not wait for them, and stops where there is no memory.
    pub fn prefetch(&self, first: u64, count: u64, ioprio: u16) {
        let range = first..first.saturating_add(count);
        self.cache.prefetch(range, ioprio, self.token);
    }

    /// Writes all that is dirty when this is called, waits for it, and flushes the cache of the
    /// device.
    ///
    /// Then all that was written before this was called will survive a loss of power. What others
    /// write meanwhile may be, but cannot keep this from ending.
    ///
    /// # Errors
    ///
    /// The first error of a write since this was last called, in the background or not. It is
    /// reported once; the next call tries to write those blocks again that are still in the cache.
    /// A block that could not be written is evicted as others are, and then what the device has
    /// is read again.
    ///
    /// Else, the error of the flush.
    pub fn write_dirty(&self) -> Result {
        self.cache.write_dirty(self.token)
    }

    /// Starts to write all that is dirty, and does not wait for it.
    pub fn write_dirty_async(&self) {
        self.cache.write_dirty_async();
    }

    /// Starts to write what is dirty and can be written without a read, and does not wait for it.
    pub fn write_complete_async(&self) {
        self.cache.write_complete_async();
    }

    /// Flushes the cache of the device.
    ///
    /// # Errors
    ///
    /// The error of the device.
    pub fn issue_flush(&self) -> Result {
        self.cache.issue_flush(self.token)
    }

    /// Discards `count` blocks from `first` on, on the device: what is in the cache stays as it
    /// is.
    ///
    /// # Errors
    ///
    /// The error of the device: `EOPNOTSUPP` if it has no discard.
    pub fn issue_discard(&self, first: u64, count: u64) -> Result {
        check_context()?;
        let start = self.cache.sector(first).ok_or(EINVAL)?;
        let end = first.checked_add(count).ok_or(EINVAL)?;
        let end = self.cache.sector(end).ok_or(EINVAL)?;
        let sectors = end.saturating_sub(start);
        let gfp = bindings::RDM_GFP_NOIO_WAIT;
        // SAFETY: The device is open, and this may sleep.
        to_result(unsafe {
            bindings::blkdev_issue_discard(self.cache.device.bdev(), start, sectors, gfp)
        })
    }

    /// Drops those blocks of a range from the cache that nobody holds, and that are not dirty.
    pub fn forget(&self, range: Range<u64>) {
        self.cache.forget_range(range);
    }

    /// Writes all that is dirty, and drops all blocks that nobody holds.
    ///
    /// # Errors
    ///
    /// Those of [`write_dirty`](Self::write_dirty). What could not be written is dropped as well.
    pub fn reset(&self) -> Result {
        let result = self.write_dirty();
        self.cache.reset(self.token);
        result
    }
}

/// A block of a store, held for as long as this lives. Others may hold the same block.
///
/// # What threads see of each other
///
/// Each [`read`](Self::read), [`compare`](Self::compare), and [`write`](Self::write) is one step:
/// who reads sees all of a write or nothing of it, also where the ranges overlap in part. Those of
/// different ranges do not wait for each other, but for the time of a copy.
///
/// # What the device sees
///
/// A write while the block is being written out is never lost: the range is dirty again, and the
/// device has a mix of old and new bytes of it until it is written again, as with C. If the
/// device wants data to be stable, the write waits.
///
/// # Invariants
///
/// `self` has a reference to `object`, which is a valid buffer of `cache`, one that is written.
pub struct Block<'c> {
    cache: &'c Cache,
    object: NonNull<Partial>,
    token: MaySleep<'c>,
}

impl Block<'_> {
    #[inline]
    fn object(&self) -> &Partial {
        // SAFETY: By the type invariants.
        unsafe { self.object.as_ref() }
    }

    /// The number of the block.
    pub fn number(&self) -> u64 {
        self.object().block()
    }

    /// Copies bytes to `offset` of the block. They become valid and dirty.
    ///
    /// Nothing is read for that, unless more than a few separate ranges of the block were written
    /// and nothing of it was read so far. Then all that is missing is read, once.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if the range is not in the block.
    /// - The error of the device that could not read what is missing. Then nothing was written.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result {
        match self.span(offset, bytes.len())? {
            Some(span) => self.cache.copy_in(self.object(), span, bytes, self.token),
            None => Ok(()),
        }
    }

    /// Copies bytes from `offset` of the block. What is missing of the block is read first.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if the range is not in the block.
    /// - The error of the device.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result {
        let Some(span) = self.span(offset, bytes.len())? else {
            return Ok(());
        };
        let copy = |own: &[u8]| bytes.copy_from_slice(own);
        self.cache.with_bytes(self.object(), span, copy, self.token)
    }

    /// Compares bytes with those from `offset` of the block on. Returns the index of the first
    /// byte that differs, or [`None`] if they are equal.
    ///
    /// What is missing of the block is read first.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if the range is not in the block.
    /// - The error of the device.
    pub fn compare(&self, offset: usize, bytes: &[u8]) -> Result<Option<usize>> {
        let Some(span) = self.span(offset, bytes.len())? else {
            return Ok(None);
        };
        let compare = |own: &[u8]| match own == bytes {
            true => None,
            false => own.iter().zip(bytes).position(|(own, byte)| own != byte),
        };
        self.cache
            .with_bytes(self.object(), span, compare, self.token)
    }

    /// The span of a range, if it is in the block and not empty.
    fn span(&self, offset: usize, bytes: usize) -> Result<Option<Span>> {
        let end = offset.checked_add(bytes).ok_or(EINVAL)?;
        if end > self.cache.shape.block_size {
            return Err(EINVAL);
        }
        // Blocks have no more bytes than fit.
        Ok(Span::new(offset as u32, end as u32))
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants, and `self` is not used any more.
        unsafe { self.cache.put(self.object.cast()) };
    }
}

impl fmt::Debug for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("number", &self.number())
            .finish_non_exhaustive()
    }
}
