// SPDX-License-Identifier: GPL-2.0

//! The answers of callbacks, each of which is about the bio of one call.

use crate::bindings;
use core::marker::PhantomData;
use kernel::ffi::c_int;

/// The name of a call of a callback. A lifetime that can be neither shortened nor extended, so that
/// what has it is of this very call.
pub(crate) type Call<'a> = PhantomData<fn(&'a ()) -> &'a ()>;

/// What becomes of the bio of a call of [`map`](crate::target::Operations::map), or of the request
/// of a call of [`map_request`](crate::request::Requests::map_request).
///
/// # Invariants
///
/// The [`MapBio`](super::MapBio) of that call was consumed for it.
#[must_use]
pub struct Decision<'a> {
    result: c_int,
    _call: Call<'a>,
}

impl Decision<'_> {
    /// Callers must have consumed the [`MapBio`](super::MapBio) of this name, or what a request
    /// has instead.
    #[inline]
    pub(crate) fn new(result: u32) -> Self {
        // INVARIANT: By the contract of this function.
        Self {
            result: result as c_int,
            _call: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn into_raw(self) -> c_int {
        self.result
    }
}

impl<'a> From<Handed<'a>> for Decision<'a> {
    #[inline]
    fn from(_: Handed<'a>) -> Self {
        Self::new(bindings::DM_MAPIO_SUBMITTED)
    }
}

/// Proof that the owned bio, or the owned request, of a call was handed on.
///
/// # Invariants
///
/// The [`Owned`](super::Owned) of that call was consumed for it.
#[must_use]
pub struct Handed<'a>(pub(super) Call<'a>);

impl Handed<'_> {
    /// Callers must have consumed the [`Owned`](super::Owned) of this name, or what a request has
    /// instead.
    #[inline]
    pub(crate) fn new() -> Self {
        // INVARIANT: By the contract of this function.
        Self(PhantomData)
    }
}
