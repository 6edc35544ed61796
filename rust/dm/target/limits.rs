// SPDX-License-Identifier: GPL-2.0

//! The queue limits of the mapped device.
//!
//! C header: [`include/linux/blkdev.h`](srctree/include/linux/blkdev.h)

use crate::{
    bindings,
    bio::MAX_COPY, //
};
use kernel::{
    page::PAGE_SIZE,
    types::Opaque, //
};

/// The limits of the mapped device while a table is being set up.
///
/// # Invariants
///
/// `self.0` is a valid `struct queue_limits` that is borrowed exclusively.
#[repr(transparent)]
pub struct Limits(Opaque<bindings::queue_limits>);

impl Limits {
    /// # Safety
    ///
    /// `ptr` must be valid and exclusively borrowed for the lifetime of the result.
    pub(super) unsafe fn from_raw<'a>(ptr: *mut bindings::queue_limits) -> &'a mut Self {
        // SAFETY: By the requirements of this function; the types have the same layout.
        unsafe { &mut *ptr.cast() }
    }

    fn get(&mut self) -> &mut bindings::queue_limits {
        // SAFETY: By the type invariant.
        unsafe { &mut *self.0.get() }
    }

    /// Raises the logical and physical block size and the smallest efficient I/O to `bytes`.
    pub fn stack_block_size(&mut self, bytes: u32) {
        let limits = self.get();
        limits.logical_block_size = limits.logical_block_size.max(bytes);
        limits.physical_block_size = limits.physical_block_size.max(bytes);
        limits.io_min = limits.io_min.max(bytes);
    }

    /// Demands that the memory of direct I/O is aligned to logical blocks, so that no block
    /// crosses a page.
    pub fn align_memory_to_blocks(&mut self) {
        let limits = self.get();
        limits.dma_alignment = limits.logical_block_size.saturating_sub(1);
    }

    /// Discards come in multiples of `bytes`.
    pub fn set_discard_granularity(&mut self, bytes: u32) {
        self.get().discard_granularity = bytes;
    }

    /// Demands that nobody changes the data of a write while it is under way.
    pub fn need_stable_writes(&mut self) {
        self.get().features |= bindings::RDM_BLK_FEAT_STABLE_WRITES;
    }

    /// Offers `tag` bytes of metadata, of no kind the block layer knows, for each block of
    /// `1 << block_bits` bytes.
    pub fn set_metadata(&mut self, tag: u8, block_bits: u8) {
        let limits = self.get();
        limits.integrity = pin_init::zeroed();
        limits.integrity.metadata_size = tag;
        limits.integrity.tag_size = tag;
        limits.integrity.interval_exp = block_bits;
    }

    /// Takes bios whose metadata is in up to `count` pieces.
    pub fn set_max_metadata_segments(&mut self, count: u16) {
        self.get().max_integrity_segments = count;
    }

    /// Limits writes that must be done as a whole to `bytes`.
    pub fn cap_atomic_writes(&mut self, bytes: u32) {
        let limits = self.get();
        limits.atomic_write_hw_unit_max = limits.atomic_write_hw_unit_max.min(bytes);
        limits.atomic_write_hw_max = limits.atomic_write_hw_max.min(bytes);
    }

    /// Has the block layer make no request of which the device below might not take a
    /// [copy](crate::request::OwnedRequest::make_copy) in one, whatever pages it is made of.
    pub fn cap_copies(&mut self) {
        let pages = u32::from(self.get().max_segments);
        self.cap_bytes(pages.saturating_mul(PAGE_SIZE as u32).min(MAX_COPY));
    }

    /// Has the core split bios that have more than `bytes`.
    pub fn cap_bytes(&mut self, bytes: u32) {
        let limits = self.get();
        limits.max_hw_sectors = limits.max_hw_sectors.min(bytes >> bindings::SECTOR_SHIFT);
    }
}
