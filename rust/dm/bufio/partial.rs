// SPDX-License-Identifier: GPL-2.0

//! Blocks that are valid, and dirty, in parts.
//!
//! A buffer of a cache that is written has a lock, which protects what its bytes are worth, and
//! the bytes. It is held for as long as a few bytes are copied, and never waits for anything. Who
//! takes it has a reference, or is the one to write the buffer out.
//!
//! The lock of the cache may be taken inside of it, not the other way round.

use super::{
    atomic::{
        AtomicPtr,
        AtomicU32, //
    },
    cache::Cache,
    contents::Contents,
    fetch::check_context,
    list::{
        Linked,
        Links, //
    },
    memory::{
        Head,
        Object, //
    },
    ranges::Span,
    wait,
    wakeup::Flight, //
};
use crate::{
    bindings,
    context::MaySleep, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    new_spinlock,
    prelude::*,
    sync::{
        lock::spinlock::SpinLockBackend,
        lock::Guard,
        SpinLock, //
    },
};

/// What a buffer has that is written.
#[pin_data]
pub(super) struct Extra {
    #[pin]
    contents: SpinLock<Contents>,
    /// The place in the list of dirty buffers, or in that of those that are being written out.
    links: Links<Partial>,
    /// What counts the bios that write the buffer out.
    pub(super) flight: AtomicPtr<Flight>,
    /// Why the last of these failed that did, as a status of the block layer.
    pub(super) status: AtomicU32,
}

// SAFETY: The links are the list's; the rest is `Send`, or atomic.
unsafe impl Send for Extra {}
// SAFETY: As above.
unsafe impl Sync for Extra {}

/// A buffer that is written.
pub(super) type Partial = Object<Extra>;

// SAFETY: Always the same field.
unsafe impl Linked for Partial {
    fn links(&self) -> &Links<Partial> {
        &self.extra().links
    }
}

/// Makes the extra data of a buffer that gets a block: all that it will have is as on the device.
///
/// # Safety
///
/// That of [`Init`](super::memory::Init), for [`Extra`].
pub(super) unsafe fn init_extra(head: NonNull<Head>, block_size: usize) {
    let init = pin_init!(Extra {
        contents <- new_spinlock!(Contents::whole(block_size as u32), "bufio_contents"),
        links: Links::new(),
        flight: AtomicPtr::new(ptr::null_mut()),
        status: AtomicU32::new(0),
    });
    // SAFETY: By the requirements of this function; buffers do not move.
    unsafe {
        let object = head.cast::<Partial>().as_ptr();
        pin_init::raw_init((&raw mut (*object).aux).cast::<Extra>(), init);
    };
}

impl Partial {
    /// The extra data.
    #[inline]
    pub(super) fn extra(&self) -> &Extra {
        // SAFETY: It was written before the buffer was entered, and nobody has a reference to
        // an object before that.
        unsafe { self.aux.assume_init_ref() }
    }

    /// Locks the bytes, and what they are worth.
    #[inline]
    pub(super) fn contents(&self) -> Guard<'_, Contents, SpinLockBackend> {
        self.extra().contents.lock()
    }

    /// The address of the first byte of a span of the block.
    #[inline]
    pub(super) fn at(&self, span: Span) -> *mut u8 {
        self.head.data.as_ptr().wrapping_add(span.start as usize)
    }
}

impl Cache {
    /// Returns a reference to a valid buffer with the block, which is entered with no byte valid
    /// if there is none. Only for caches that are written.
    pub(super) fn hold(&self, block: u64, token: MaySleep<'_>) -> Result<NonNull<Partial>> {
        let head = loop {
            match self.join(block) {
                Some(head) => {
                    // SAFETY: The reference is this function's.
                    let state = wait::until_filled(unsafe { &head.as_ref().state }, token);
                    if state.failure().is_none() {
                        break head;
                    }
                    // SAFETY: As above; the buffer is not used any more.
                    unsafe { self.put(head) };
                    self.forget(block);
                }
                None => {
                    check_context()?;
                    // One that failed, and that nobody wants to read.
                    self.forget(block);
                    if let Some(head) = self.enter_nothing(block, token) {
                        break head;
                    }
                }
            }
        };
        Ok(head.cast())
    }

    /// Enters a buffer for a block of which nothing is valid, unless the block has one.
    fn enter_nothing(&self, block: u64, token: MaySleep<'_>) -> Option<NonNull<Head>> {
        let head = self.enter_empty(block, token)?;
        // SAFETY: It is busy for this function, and has the extra data.
        unsafe {
            let object = head.cast::<Partial>();
            *object.as_ref().contents() = Contents::nothing(self.shape.block_size as u32);
            let state = &head.as_ref().state;
            state.complete(Ok(()), true);
            wait::filled(state.as_ptr());
        }
        Some(head)
    }

    /// Changes bytes of a block, which become valid and dirty.
    pub(super) fn copy_in(
        &self,
        object: &Partial,
        span: Span,
        bytes: &[u8],
        token: MaySleep<'_>,
    ) -> Result {
        let bytes = bytes.get(..span.len() as usize).ok_or(EINVAL)?;
        loop {
            let mut contents = object.contents();
            if self.must_keep_still(object) {
                drop(contents);
                wait::until_written(&object.head.state, token);
                continue;
            }
            if !contents.write(span) {
                drop(contents);
                self.fill(object, true, token)?;
                continue;
            }
            // SAFETY: The span is in the block. With the lock held, nobody else accesses its
            // bytes but the device, if it is being written out; the function is C's, which copes
            // with that. What the device gets to see is written again.
            unsafe { bindings::memcpy(object.at(span).cast(), bytes.as_ptr().cast(), bytes.len()) };
            let more = self.mark_dirty(object);
            drop(contents);
            if more {
                self.balance();
            }
            return Ok(());
        }
    }

    /// Calls a function with bytes of a block, which are read first if they are missing. It must
    /// not sleep.
    pub(super) fn with_bytes<R>(
        &self,
        object: &Partial,
        span: Span,
        f: impl FnOnce(&[u8]) -> R,
        token: MaySleep<'_>,
    ) -> Result<R> {
        loop {
            let contents = object.contents();
            if contents.is_valid(span) {
                // SAFETY: The span is in the block and valid, that is, initialised; nobody
                // changes its bytes while the lock is held.
                let bytes =
                    unsafe { core::slice::from_raw_parts(object.at(span), span.len() as usize) };
                return Ok(f(bytes));
            }
            drop(contents);
            self.fill(object, true, token)?;
        }
    }

    /// Makes all bytes of a block valid.
    pub(super) fn complete(&self, object: &Partial, token: MaySleep<'_>) -> Result {
        let contents = object.contents();
        let whole = contents.is_valid(contents.all());
        drop(contents);
        match whole {
            true => Ok(()),
            false => self.fill(object, true, token),
        }
    }
}
