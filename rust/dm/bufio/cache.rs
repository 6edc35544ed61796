// SPDX-License-Identifier: GPL-2.0

//! The buffers of one client: finding, entering, and taking them away.
//!
//! # Locking
//!
//! [`Cache::get`] and [`Cache::join`] take no lock, only an RCU read-side critical section. All
//! changes to the index, the clock, and the reserves are made with the spinlock of the cache
//! held, in process context; nothing is allocated and nothing waits meanwhile. References are
//! given back without a lock, in any context.

use super::{
    atomic::{
        AtomicU32,
        AtomicUsize,
        Ordering, //
    },
    index::{
        Bucket,
        Index,
        Insert, //
    },
    io::Bios,
    limit,
    list::{
        Linked,
        Links,
        List, //
    },
    memory::{
        allocate_leaf,
        free_leaf,
        Effort,
        Head,
        Leaf,
        Owned,
        Shape, //
    },
    partial::Partial,
    wait,
    writes::Writes, //
};
use crate::{
    alloc,
    bindings,
    context::MaySleep,
    target::device::Device, //
};
use core::{
    mem,
    num::NonZeroU64,
    ops::Range,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    new_spinlock,
    prelude::*,
    sync::{
        lock::spinlock::SpinLockBackend,
        lock::Guard,
        rcu,
        SpinLock, //
    },
};

/// The most buckets of an index.
const MAX_BUCKETS: u64 = 1 << 16;

/// What the lock protects.
pub(super) struct Inner {
    /// All buffers of the index, from the one that was entered or found to be in use first.
    pub(super) clock: List<Head>,
    /// Owned buffers in reserve.
    pub(super) reserve: List<Head>,
    /// Leaves in reserve, linked in a way that is theirs.
    pub(super) leaves: KVec<NonNull<Leaf>>,
    /// Dirty buffers, but for those that are being written.
    pub(super) dirty: List<Partial>,
}

// SAFETY: The cache owns the leaves.
unsafe impl Send for Inner {}

pub(super) type Locked<'a> = Guard<'a, Inner, SpinLockBackend>;

/// The buffers of one client.
///
/// The fields that a hit reads come first and never change.
///
/// # Invariants
///
/// Exactly the buffers in the index are in the clock, and they are not owned while the lock is
/// not held. Whoever takes a buffer out of the index owned it first.
#[repr(C)]
#[pin_data(PinnedDrop)]
pub(super) struct Cache {
    index: Index<Head, KVVec<Bucket<Head>>>,
    pub(super) shape: Shape,
    start: u64,
    sectors_per_block: NonZeroU64,
    pub(super) reserved: usize,
    pub(super) device: Device,
    #[pin]
    pub(super) shared: Shared,
    #[pin]
    pub(super) bios: Bios,
    /// Of a cache that is written; then all its buffers are [`Partial`].
    pub(super) writes: Option<Pin<KBox<Writes>>>,
}

/// What changes, apart from what a hit reads.
#[repr(C, align(64))]
#[pin_data]
pub(super) struct Shared {
    #[pin]
    inner: SpinLock<Inner>,
    /// The number of buffers in the clock.
    cached: AtomicUsize,
    /// The number of buffers that were charged, with those in reserve.
    pub(super) total: AtomicUsize,
    /// The stamp of the first buffer in the clock.
    oldest: AtomicU32,
    /// The place in the list of all clients.
    links: Links<Cache>,
}

const _: () = assert!(mem::offset_of!(Cache, index) == 0);

impl Shared {
    fn new(leaves: KVec<NonNull<Leaf>>) -> impl PinInit<Self> {
        pin_init!(Self {
            inner <- new_spinlock!(Inner {
                clock: List::new(),
                reserve: List::new(),
                leaves,
                dirty: List::new(),
            }, "bufio"),
            cached: AtomicUsize::new(0),
            total: AtomicUsize::new(0),
            oldest: AtomicU32::new(now()),
            links: Links::new(),
        })
    }
}

// SAFETY: What changes is protected by the lock or atomic; the links are the registry's.
unsafe impl Send for Cache {}
// SAFETY: As above.
unsafe impl Sync for Cache {}

// SAFETY: Always the same field.
unsafe impl Linked for Cache {
    fn links(&self) -> &Links<Cache> {
        &self.shared.links
    }
}

/// Now, in jiffies; wraps around.
pub(super) fn now() -> u32 {
    // SAFETY: The counter is always there.
    (unsafe { ptr::read_volatile(&raw const bindings::jiffies) }) as u32
}

impl Cache {
    /// Makes a cache with its reserve.
    pub(super) fn new(
        device: &Device,
        shape: Shape,
        start: u64,
        reserved: usize,
        writes: Option<Pin<KBox<Writes>>>,
    ) -> Result<Pin<KBox<Self>>> {
        let sectors_per_block = (shape.block_size as u64) >> bindings::SECTOR_SHIFT;
        let sectors_per_block = NonZeroU64::new(sectors_per_block).ok_or(EINVAL)?;
        let blocks = device.sectors() / sectors_per_block;
        let fit = limit::default_limit() / shape.footprint;
        let index = new_index(blocks, fit as u64)?;
        alloc::point()?;
        let leaves = KVec::with_capacity(reserved, GFP_KERNEL)?;
        let device = device.clone();
        let cache = alloc::pin_boxed(
            try_pin_init!(Self {
                index,
                shape,
                start,
                sectors_per_block,
                reserved,
                device,
                shared <- Shared::new(leaves),
                bios <- Bios::new(),
                writes,
            }? Error),
            GFP_KERNEL,
        )?;
        for _ in 0..reserved {
            cache.add_reserve()?;
        }
        Ok(cache)
    }

    fn add_reserve(&self) -> Result {
        let leaf = allocate_leaf(Effort::Kernel)?;
        self.give_leaf(leaf);
        self.charge_reserve();
        let buffer = self.allocate(Effort::Kernel).ok_or(ENOMEM)?;
        self.give(buffer);
        Ok(())
    }

    #[inline]
    pub(super) fn lock(&self) -> Locked<'_> {
        self.shared.inner.lock()
    }

    /// The number of buffers that could be evicted if none was in use.
    pub(super) fn cached(&self) -> usize {
        self.shared.cached.load(Ordering::Relaxed)
    }

    /// For how long the buffer that was used last was not used, in jiffies.
    pub(super) fn age(&self) -> u32 {
        now().wrapping_sub(self.shared.oldest.load(Ordering::Relaxed))
    }

    /// The first sector of a block.
    pub(super) fn sector(&self, block: u64) -> Option<u64> {
        block
            .checked_mul(self.sectors_per_block.get())?
            .checked_add(self.start)
    }

    /// The number of whole blocks of the device.
    pub(super) fn device_blocks(&self) -> u64 {
        self.device.sectors().saturating_sub(self.start) / self.sectors_per_block
    }

    /// Takes a reference to a buffer that has the block and is valid. Any context; no lock.
    #[inline]
    pub(super) fn get(&self, block: u64) -> Option<NonNull<Head>> {
        let _rcu = rcu::read_lock();
        // SAFETY: In an RCU read-side critical section, in which nothing is freed.
        unsafe { self.index.get(block, wait::released) }
    }

    /// Takes a reference to a buffer that has the block and is valid, or may become so. Any
    /// context; no lock.
    #[inline]
    pub(super) fn join(&self, block: u64) -> Option<NonNull<Head>> {
        let _rcu = rcu::read_lock();
        // SAFETY: In an RCU read-side critical section, in which nothing is freed.
        unsafe { self.index.join(block, wait::released) }
    }

    /// Gives a reference back. Any context.
    ///
    /// # Safety
    ///
    /// The caller has a reference, and does not use it any more.
    #[inline]
    pub(super) unsafe fn put(&self, head: NonNull<Head>) {
        // SAFETY: The caller has a reference.
        if unsafe { head.as_ref() }.state.put() {
            wait::released();
        }
    }

    /// Finds the first block of a range that has no buffer. Any context; no lock.
    pub(super) fn first_missing(&self, range: Range<u64>) -> Option<u64> {
        let _rcu = rcu::read_lock();
        // SAFETY: In an RCU read-side critical section.
        unsafe { self.index.first_missing(range) }
    }

    /// Finds the buffer of a block.
    pub(super) fn find<'a>(&'a self, _: &'a Locked<'_>, block: u64) -> Option<&'a Head> {
        // SAFETY: The lock is held, so that nobody takes the buffer out of the index.
        Some(unsafe { self.index.lookup(block)?.as_ref() })
    }

    /// Enters a buffer for a block, and publishes it busy with `holders` references.
    ///
    /// Returns the buffer if the block has got one meanwhile.
    pub(super) fn enter(
        &self,
        block: u64,
        holders: usize,
        buffer: Owned,
        spare: &mut Option<NonNull<Leaf>>,
    ) -> Result<NonNull<Head>, Refused> {
        let head = buffer.into_raw();
        // SAFETY: The buffer is valid and owned by the caller: nobody else has the typed data.
        unsafe {
            head.as_ref().stamp.store(now(), Ordering::Relaxed);
            self.shape.init(head);
        }
        let mut inner = self.lock();
        // SAFETY: The lock is held; buffers are freed only after they were removed, with RCU.
        match unsafe { self.index.enter(block, holders, head, spare) } {
            // SAFETY: It is still owned, as it was not entered.
            Insert::Exists(_) => Err(Refused::Exists(unsafe { Owned::from_raw(head) })),
            // SAFETY: As above.
            Insert::NeedsLeaf => Err(Refused::NeedsLeaf(unsafe { Owned::from_raw(head) })),
            Insert::Done => {
                // SAFETY: It is in no list, and leaves this one before it is freed.
                unsafe { inner.clock.push_back(head) };
                self.count(&inner);
                Ok(head)
            }
        }
    }

    /// Brings what is counted of the clock up to date.
    pub(super) fn count(&self, inner: &Inner) {
        self.shared
            .cached
            .store(inner.clock.len(), Ordering::Relaxed);
        // SAFETY: Buffers in the clock are valid.
        if let Some(first) = inner.clock.front().map(|first| unsafe { first.as_ref() }) {
            let stamp = first.stamp.load(Ordering::Relaxed);
            self.shared.oldest.store(stamp, Ordering::Relaxed);
        }
    }

    /// Takes a buffer that was just made owned out of the index and the clock.
    pub(super) fn remove(&self, inner: &mut Locked<'_>, head: NonNull<Head>) -> Owned {
        // SAFETY: The buffer is valid, and by the type invariants in the index and the clock.
        let leaf = unsafe {
            inner.clock.remove(head);
            let block = head.as_ref().block.load(Ordering::Relaxed);
            self.index.remove(block)
        };
        if let Some(leaf) = leaf {
            self.keep_leaf(inner, leaf);
        }
        self.count(inner);
        // SAFETY: Nobody else has a way to it: its state is owned and nothing finds it.
        unsafe { Owned::from_raw(head) }
    }
}

/// Why a buffer was not entered.
pub(super) enum Refused {
    /// The block has one.
    Exists(Owned),
    /// The block needs a leaf.
    NeedsLeaf(Owned),
}

impl Refused {
    /// Returns the buffer.
    pub(super) fn into_buffer(self) -> Owned {
        match self {
            Refused::Exists(buffer) | Refused::NeedsLeaf(buffer) => buffer,
        }
    }
}

/// Makes an index for a device of `blocks` blocks, of which `fit` fit into the memory.
fn new_index(blocks: u64, fit: u64) -> Result<Index<Head, KVVec<Bucket<Head>>>> {
    let leaves = blocks >> super::index::SHIFT;
    let buckets = leaves
        .min(fit / 8)
        .clamp(1, MAX_BUCKETS)
        .next_power_of_two();
    alloc::point()?;
    let mut table = KVVec::with_capacity(buckets as usize, GFP_KERNEL)?;
    for _ in 0..buckets {
        table.push(Bucket::new(ptr::null_mut()), GFP_KERNEL)?;
    }
    Index::new(table).ok_or(EINVAL)
}

#[pinned_drop]
impl PinnedDrop for Cache {
    fn drop(self: Pin<&mut Self>) {
        let token = MaySleep::assert();
        // Nobody holds a buffer, as that would borrow the client; some may still be read, and
        // some dirty.
        let scratch = self.finish_writing(token);
        self.reset(token);
        let mut inner = self.lock();
        if inner.clock.len() > 0 {
            pr_crit!("bufio: {} buffers are in use for ever\n", inner.clock.len());
        }
        let mut victims = List::new();
        mem::swap(&mut victims, &mut inner.reserve);
        if let Some(scratch) = scratch {
            // SAFETY: It is in no list, and valid until it is freed.
            unsafe { victims.push_back(scratch.into_raw()) };
        }
        while let Some(leaf) = inner.leaves.pop() {
            // SAFETY: It is out of the index, and nobody else has it.
            unsafe { free_leaf(leaf) };
        }
        drop(inner);
        self.free(&mut victims);
    }
}
