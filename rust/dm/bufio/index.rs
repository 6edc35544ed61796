// SPDX-License-Identifier: GPL-2.0

//! Which buffer has which block: a hash table that is read without a lock.
//!
//! The table maps runs of [`SLOTS`] neighbouring blocks to leaves, and a leaf has a pointer for
//! each of its blocks and a mask of those it has, so that a look at a run of blocks costs little
//! more than a look at one. Entering a block needs no memory if its leaf is there, and a leaf
//! that the caller brings along if not: nothing in here allocates, and who keeps a leaf in
//! reserve can always enter a block. The file uses nothing but `core`.
//!
//! # Contract
//!
//! Changes are serialised by the caller's lock. Lookups need no lock, and may miss a block that
//! is there, or find the buffer of another block, if leaves or buffers are used anew meanwhile:
//! who finds a buffer takes a reference (see [`super::state`]) and compares the block; who finds
//! none and must know looks again with the lock held. Leaves and buffers that were reachable are
//! freed only after all lookups that may have seen them, for which the caller has RCU.

use super::atomic::{
    AtomicPtr,
    AtomicU32,
    AtomicU64,
    Ordering, //
};
use core::{
    cell::UnsafeCell,
    mem::MaybeUninit,
    ops::{
        Deref,
        Range, //
    },
    ptr::{
        self,
        NonNull, //
    },
};

/// The logarithm of [`SLOTS`].
pub(crate) const SHIFT: u32 = 4;

/// The number of blocks in a leaf.
pub(crate) const SLOTS: usize = 1 << SHIFT;

const FULL: u32 = (1 << SLOTS) - 1;

/// The last block of a leaf, counted from its first.
const LAST: u32 = SLOTS as u32 - 1;

/// The multiplier of a Fibonacci hash: 2^64 by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The head of a chain of leaves.
pub(crate) type Bucket<T> = AtomicPtr<Leaf<T>>;

/// The blocks of a run.
pub(crate) struct Leaf<T> {
    next: AtomicPtr<Leaf<T>>,
    key: AtomicU64,
    present: AtomicU32,
    slots: [AtomicPtr<T>; SLOTS],
    /// Room for what the caller needs to free the leaf later.
    pub(crate) reclaim: UnsafeCell<MaybeUninit<[usize; 2]>>,
}

impl<T> Leaf<T> {
    /// Makes an empty leaf.
    pub(crate) fn new() -> Self {
        Self {
            next: AtomicPtr::new(ptr::null_mut()),
            key: AtomicU64::new(0),
            present: AtomicU32::new(0),
            slots: core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            reclaim: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The slot of a block, and its bit in the mask.
    #[inline]
    fn slot(&self, block: u64) -> Option<(&AtomicPtr<T>, u32)> {
        let i = block as usize % SLOTS;
        Some((self.slots.get(i)?, 1 << i))
    }
}

/// What came of [`Index::insert`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Insert<T> {
    /// The block has the buffer now.
    Done,
    /// The block has this buffer already.
    Exists(NonNull<T>),
    /// The block needs a leaf, and the caller brought none.
    NeedsLeaf,
}

/// The table.
///
/// # Invariants
///
/// The chains consist of leaves that are valid until the caller frees them as the contract says.
/// `buckets` has a power of two of elements, and `mask` is one less.
pub(crate) struct Index<T, S: Deref<Target = [Bucket<T>]>> {
    buckets: S,
    mask: usize,
    _entries: core::marker::PhantomData<*mut T>,
}

impl<T, S: Deref<Target = [Bucket<T>]>> Index<T, S> {
    /// Makes an empty table of empty buckets, whose number is a power of two.
    ///
    /// Returns [`None`] if it is not.
    pub(crate) fn new(buckets: S) -> Option<Self> {
        if !buckets.len().is_power_of_two() {
            return None;
        }
        let mask = buckets.len().wrapping_sub(1);
        // INVARIANT: all chains are empty.
        Some(Self {
            buckets,
            mask,
            _entries: core::marker::PhantomData,
        })
    }

    /// The chain of a key. By the type invariants there is one.
    #[inline]
    fn bucket(&self, key: u64) -> Option<&Bucket<T>> {
        let hash = key.wrapping_mul(GOLDEN) >> 32;
        self.buckets.get(hash as usize & self.mask)
    }

    /// Finds the leaf with a key.
    ///
    /// # Safety
    ///
    /// The caller is in an RCU read-side critical section for as long as it uses the result, or
    /// holds the lock.
    #[inline]
    unsafe fn leaf(&self, key: u64) -> Option<&Leaf<T>> {
        let mut at = self.bucket(key)?.load(Ordering::Acquire);
        // SAFETY: By the type invariants and the precondition, leaves in the chains are valid.
        while let Some(leaf) = unsafe { at.as_ref() } {
            if leaf.key.load(Ordering::Relaxed) == key {
                return Some(leaf);
            }
            at = leaf.next.load(Ordering::Acquire);
        }
        None
    }

    /// Finds the buffer that a block had a moment ago.
    ///
    /// # Safety
    ///
    /// The caller is in an RCU read-side critical section for as long as it uses the result, or
    /// holds the lock.
    #[inline]
    pub(crate) unsafe fn lookup(&self, block: u64) -> Option<NonNull<T>> {
        // SAFETY: The same precondition.
        let leaf = unsafe { self.leaf(block >> SHIFT) }?;
        NonNull::new(leaf.slot(block)?.0.load(Ordering::Acquire))
    }

    /// Finds the first block of a range that has no buffer.
    ///
    /// # Safety
    ///
    /// The caller is in an RCU read-side critical section, or holds the lock.
    pub(crate) unsafe fn first_missing(&self, range: Range<u64>) -> Option<u64> {
        let mut block = range.start;
        while block < range.end {
            // SAFETY: The same precondition.
            let present = match unsafe { self.leaf(block >> SHIFT) } {
                Some(leaf) => leaf.present.load(Ordering::Relaxed),
                None => 0,
            };
            let first = block as u32 & LAST;
            let missing = (!present & FULL) >> first;
            if missing != 0 {
                let found = block.wrapping_add(missing.trailing_zeros().into());
                return (found < range.end).then_some(found);
            }
            block = (block | u64::from(LAST)).checked_add(1)?;
        }
        None
    }

    /// Enters a buffer for a block. Takes `spare` if the block needs a leaf.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and `buffer` is not freed before it is removed and no lookup
    /// can have it any more. `spare` is valid, empty, and in no table.
    pub(crate) unsafe fn insert(
        &self,
        block: u64,
        buffer: NonNull<T>,
        spare: &mut Option<NonNull<Leaf<T>>>,
    ) -> Insert<T> {
        let key = block >> SHIFT;
        // SAFETY: The caller holds the lock.
        let leaf = match unsafe { self.leaf(key) } {
            Some(leaf) => leaf,
            None => match spare.take() {
                // SAFETY: The same preconditions.
                Some(spare) => unsafe { self.add(key, spare) },
                None => return Insert::NeedsLeaf,
            },
        };
        let Some((slot, bit)) = leaf.slot(block) else {
            return Insert::NeedsLeaf;
        };
        if let Some(there) = NonNull::new(slot.load(Ordering::Relaxed)) {
            return Insert::Exists(there);
        }
        slot.store(buffer.as_ptr(), Ordering::Release);
        let present = leaf.present.load(Ordering::Relaxed) | bit;
        leaf.present.store(present, Ordering::Relaxed);
        Insert::Done
    }

    /// Adds an empty leaf.
    ///
    /// # Safety
    ///
    /// The caller holds the lock; `leaf` is valid, empty, and in no table.
    unsafe fn add(&self, key: u64, leaf: NonNull<Leaf<T>>) -> &Leaf<T> {
        let at = leaf.as_ptr();
        // SAFETY: The leaf is valid, and stays so while it is in the table.
        let leaf = unsafe { leaf.as_ref() };
        leaf.key.store(key, Ordering::Relaxed);
        if let Some(bucket) = self.bucket(key) {
            let rest = bucket.load(Ordering::Relaxed);
            leaf.next.store(rest, Ordering::Release);
            // INVARIANT: The leaf and those behind it are valid.
            bucket.store(at, Ordering::Release);
        }
        leaf
    }

    /// Removes the buffer of a block. Returns the leaf if nothing is left in it: it is out of
    /// the table, and can be entered again, or freed once no lookup can have it any more.
    ///
    /// # Safety
    ///
    /// The caller holds the lock.
    pub(crate) unsafe fn remove(&self, block: u64) -> Option<NonNull<Leaf<T>>> {
        let key = block >> SHIFT;
        // SAFETY: The caller holds the lock.
        let leaf = unsafe { self.leaf(key) }?;
        let (slot, bit) = leaf.slot(block)?;
        slot.store(ptr::null_mut(), Ordering::Relaxed);
        let present = leaf.present.load(Ordering::Relaxed) & !bit;
        leaf.present.store(present, Ordering::Relaxed);
        if present != 0 {
            return None;
        }
        // SAFETY: The caller holds the lock.
        unsafe { self.unlink(key, leaf) };
        Some(NonNull::from(leaf))
    }

    /// Takes a leaf out of its chain. Lookups that stand on it go on to the rest of the chain.
    ///
    /// # Safety
    ///
    /// The caller holds the lock.
    unsafe fn unlink(&self, key: u64, leaf: &Leaf<T>) {
        let mut next = self.bucket(key);
        while let Some(link) = next {
            let at = link.load(Ordering::Relaxed);
            if ptr::eq(at, leaf) {
                link.store(leaf.next.load(Ordering::Relaxed), Ordering::Release);
                return;
            }
            // SAFETY: By the type invariants and the precondition, leaves in the chains are valid.
            next = unsafe { at.as_ref() }.map(|other| &other.next);
        }
    }
}
