// SPDX-License-Identifier: GPL-2.0

//! Requests whose bios are worked on in any order, each by somebody else.

use super::{
    part::Part,
    Header,
    OwnedRequest,
    Requests, //
};
use crate::bio::{
    BlockStatus,
    Cursor,
    Handed, //
};
use core::{
    mem,
    ptr::NonNull,
    sync::atomic::Ordering, //
};

/// A share in a request: one of its bios. When the last share of a request is dropped, the request
/// is [as before](Requests::parts_done).
///
/// # Invariants
///
/// Nobody else uses the bio of `part`.
pub struct Share<T: Requests> {
    part: Part<'static>,
    _hold: Hold<T>,
}

// SAFETY: A request may be handled by any thread, the part is of this share only, and
// `T::PerRequest` is `Send`.
unsafe impl<T: Requests> Send for Share<T> {}

/// What keeps a request as it is.
///
/// # Invariants
///
/// The header is valid, and counts this one. Nobody has the request, and it does not end.
struct Hold<T: Requests>(NonNull<Header<T>>);

impl<T: Requests> Share<T> {
    /// Returns the first sector (512 bytes) of the mapped device. Any context.
    pub fn sector(&self) -> u64 {
        self.part.sector()
    }

    /// Returns whether data goes to the device. Any context.
    pub fn is_write(&self) -> bool {
        self.part.is_write()
    }

    /// Returns a position at the front of the data. Any context.
    pub fn cursor(&self) -> Cursor<'_> {
        self.part.cursor()
    }

    /// Returns a position at the front of its part of the copy, at the end of nothing if there is
    /// no copy. Any context.
    pub fn copy_cursor(&self) -> Cursor<'_> {
        self.part.copy_cursor()
    }

    /// Returns the result so far. Any context.
    pub fn status(&self) -> BlockStatus {
        self.part.status()
    }

    /// Has the bio end with an error, unless it has one already. Any context.
    pub fn fail(&mut self, status: BlockStatus) {
        self.part.fail(status);
    }
}

impl<T: Requests> Drop for Hold<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant.
        let shares = unsafe { &(*self.0.as_ptr()).shares };
        // What the others did to their bios happens before the end.
        if shares.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        // SAFETY: By the type invariant, and this was the last one: the request is ours.
        let (instance, request) = unsafe {
            (
                self.0.as_ref().instance.as_ref(),
                OwnedRequest::from_header(self.0),
            )
        };
        let Handed { .. } = instance.state.parts_done(instance.target(), request);
    }
}

impl<'a, T: Requests> OwnedRequest<'a, T> {
    /// Gives each bio away by `each`, from the first on. When all of them were dropped,
    /// [`Requests::parts_done`] gets the request, perhaps before this returns. Any context that
    /// `each` and `parts_done` may run in.
    pub fn share_out(self, mut each: impl FnMut(Share<T>)) -> Handed<'a> {
        // SAFETY: Each bio is used by its share only. They and the copy stay while there is a
        // share, or `own`.
        let parts = unsafe { self.all_parts() };
        let header = self.header;
        mem::forget(self);
        // SAFETY: The header was that of `self`, which is gone.
        let shares = unsafe { &(*header.as_ptr()).shares };
        shares.store(1, Ordering::Relaxed);
        // INVARIANT: It was counted.
        let own = Hold(header);
        for part in parts {
            shares.fetch_add(1, Ordering::Relaxed);
            // INVARIANT: It was counted; each part is of another bio.
            each(Share {
                part,
                _hold: Hold(header),
            });
        }
        drop(own);
        Handed::new()
    }
}
