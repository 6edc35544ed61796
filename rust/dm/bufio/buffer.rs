// SPDX-License-Identifier: GPL-2.0

//! Buffers as their users see them.

use super::{
    atomic::Ordering,
    cache::Cache,
    memory::{
        Head,
        Object, //
    },
    state::Status,
    wait,
    Aux, //
};
use crate::context::MaySleep;
use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr::NonNull,
    slice, //
};

/// A block in the cache, held for as long as this lives.
///
/// Dropping it gives it back, which takes no lock and never sleeps: it may happen in any context.
///
/// # Invariants
///
/// `self` has a reference to `head`, which is valid, has data, and is one of the objects with
/// data of type `A` of `cache`.
pub struct Buffer<'c, A: Aux> {
    cache: &'c Cache,
    head: NonNull<Head>,
    _aux: PhantomData<&'c A>,
}

// SAFETY: A reference may be used and given back by any thread; `A` is `Sync`.
unsafe impl<A: Aux> Send for Buffer<'_, A> {}
// SAFETY: `&Buffer` only gives shared access to the data, which does not change, and to `A`.
unsafe impl<A: Aux> Sync for Buffer<'_, A> {}

impl<'c, A: Aux> Buffer<'c, A> {
    /// # Safety
    ///
    /// The caller has a reference to `head`, which becomes the one of the result. It is valid and
    /// one of the objects with data of type `A` of `cache`.
    #[inline]
    pub(super) unsafe fn from_raw(cache: &'c Cache, head: NonNull<Head>) -> Self {
        // INVARIANT: By the requirements of this function.
        Self {
            cache,
            head,
            _aux: PhantomData,
        }
    }

    #[inline]
    fn head(&self) -> &Head {
        // SAFETY: By the type invariants.
        unsafe { self.head.as_ref() }
    }

    /// The data of the block.
    #[inline]
    pub fn data(&self) -> &[u8] {
        // SAFETY: By the type invariants. Nobody writes the data while there is a reference.
        unsafe { slice::from_raw_parts(self.head().data.as_ptr(), self.cache.shape.block_size) }
    }

    /// The typed data of the block, which started as its default when the block came in.
    #[inline]
    pub fn aux(&self) -> &A {
        // SAFETY: By the type invariants; it was written before the buffer was published.
        unsafe {
            (*self.head.cast::<Object<A>>().as_ptr())
                .aux
                .assume_init_ref()
        }
    }

    /// The number of the block.
    #[inline]
    pub fn block(&self) -> u64 {
        self.head().block.load(Ordering::Relaxed)
    }
}

impl<A: Aux> Drop for Buffer<'_, A> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariants, and `self` is not used any more.
        unsafe { self.cache.put(self.head) };
    }
}

/// A block that is being filled, by nobody but the holder of this.
///
/// Others who want to read the block wait until it is [published](Self::publish). Dropping it
/// without that discards it.
///
/// # Invariants
///
/// `head` is busy with `self` as the producer, and one of the objects with data of type `A` of
/// `cache`.
#[must_use = "a new buffer is discarded unless it is published"]
pub struct NewBuffer<'c, A: Aux> {
    cache: &'c Cache,
    head: NonNull<Head>,
    _aux: PhantomData<&'c mut A>,
    _context: PhantomData<MaySleep<'c>>,
}

impl<'c, A: Aux> NewBuffer<'c, A> {
    /// # Safety
    ///
    /// `head` is busy, its data is initialised, the caller is the producer and gives that up, and
    /// it is one of the objects with data of type `A` of `cache`.
    pub(super) unsafe fn from_raw(cache: &'c Cache, head: NonNull<Head>) -> Self {
        // INVARIANT: By the requirements of this function.
        Self {
            cache,
            head,
            _aux: PhantomData,
            _context: PhantomData,
        }
    }

    /// The data of the block, zeroes at first.
    pub fn data_mut(&mut self) -> &mut [u8] {
        let bytes = self.cache.shape.block_size;
        // SAFETY: By the type invariants, nobody else has access to the data while it is busy.
        unsafe { slice::from_raw_parts_mut(self.head.as_ref().data.as_ptr(), bytes) }
    }

    /// The typed data of the block.
    pub fn aux(&self) -> &A {
        // SAFETY: By the type invariants; it was written when the block was entered.
        unsafe {
            (*self.head.cast::<Object<A>>().as_ptr())
                .aux
                .assume_init_ref()
        }
    }

    /// Makes the block what others read from now on.
    pub fn publish(self) -> Buffer<'c, A> {
        let (cache, head) = (self.cache, self.head);
        let _ = ManuallyDrop::new(self);
        // SAFETY: By the type invariants. The reference is kept, for the result.
        unsafe {
            head.as_ref().state.complete(Ok(()), true);
            wait::filled(head.as_ref().state.as_ptr());
            Buffer::from_raw(cache, head)
        }
    }
}

impl<A: Aux> Drop for NewBuffer<'_, A> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants; the buffer is not used any more once it is given back.
        unsafe {
            let block = self.head.as_ref().block.load(Ordering::Relaxed);
            let state = &self.head.as_ref().state;
            state.complete(Err(Status::RETRY), true);
            wait::filled(state.as_ptr());
            self.cache.put(self.head);
            self.cache.forget(block);
        }
    }
}
