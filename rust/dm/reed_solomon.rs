// SPDX-License-Identifier: GPL-2.0

//! The decoder of a Reed-Solomon code, by the kernel's library.
//!
//! The code is the one of 255 bytes over GF(256) with the field polynomial 0x11d, whose generator
//! has the roots 2^0, 2^1, and so on, one for each byte of parity. The decoder is given the
//! syndromes of a codeword, and says where it is wrong and by how much; the caller has computed
//! them, and changes the bytes.
//!
//! C header: [`include/linux/rslib.h`](srctree/include/linux/rslib.h)

use crate::{
    alloc,
    bindings,
    context::MaySleep, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    error::to_result,
    ffi::c_int,
    prelude::*, //
};

/// The bytes of a codeword, and the logarithm that stands for that of zero.
pub const CODEWORD: u8 = 255;

/// The most bytes of parity that a [`Decoder`] copes with.
pub const MAX_ROOTS: usize = 32;

/// A decoder: some working memory, for one codeword at a time.
///
/// # Invariants
///
/// `rs` is a valid control structure, with `roots` roots, that `self` owns. `roots` is at most
/// [`MAX_ROOTS`].
pub struct Decoder {
    rs: NonNull<bindings::rs_control>,
    roots: usize,
}

// SAFETY: A control structure may be used and freed by any thread.
unsafe impl Send for Decoder {}
// SAFETY: There is nothing to be done with a `&Decoder`.
unsafe impl Sync for Decoder {}

/// What is wrong with a codeword.
pub struct Errors {
    positions: [c_int; MAX_ROOTS],
    values: [u16; MAX_ROOTS],
    count: usize,
}

impl Errors {
    /// The number of wrong bytes, parity included.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The positions of the wrong bytes in the codeword, parity included, and what is to be added
    /// (in the field: exclusive or) to each.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u8)> + '_ {
        self.positions
            .iter()
            .zip(&self.values)
            .take(self.count)
            .map(|(&position, &value)| (position as usize, value as u8))
    }
}

impl Decoder {
    /// Creates a decoder for codewords with `roots` bytes of parity. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` if `roots` is zero or more than [`MAX_ROOTS`].
    pub fn new(roots: u8, _: MaySleep<'_>) -> Result<Self> {
        const BITS: c_int = 8;
        const POLYNOMIAL: c_int = 0x11d;
        const FIRST_ROOT: c_int = 0;
        const STEP: c_int = 1;

        if roots == 0 || usize::from(roots) > MAX_ROOTS {
            return Err(EINVAL);
        }
        alloc::point()?;
        // SAFETY: The function has no requirements.
        let rs = unsafe {
            bindings::init_rs_gfp(
                BITS,
                POLYNOMIAL,
                FIRST_ROOT,
                STEP,
                roots.into(),
                bindings::GFP_KERNEL,
            )
        };
        // INVARIANT: The structure was made just now for that many roots, and nobody else knows it.
        Ok(Self {
            rs: NonNull::new(rs).ok_or(ENOMEM)?,
            roots: roots.into(),
        })
    }

    /// Finds the errors of a codeword. Any context.
    ///
    /// `syndromes` are the logarithms of its values at the roots, or [`CODEWORD`] for the value
    /// zero; those beyond the number of roots are not looked at. `erasures` are positions that are
    /// known to be bad. So many errors can be found elsewhere as leave two roots for each.
    ///
    /// # Errors
    ///
    /// `EBADMSG` if there are too many errors; `EINVAL` for arguments that make no sense.
    pub fn decode(&mut self, syndromes: &[u16], erasures: &[u8]) -> Result<Errors> {
        let syndromes = syndromes.get(..self.roots).ok_or(EINVAL)?;
        if erasures.len() > self.roots
            || syndromes.iter().any(|&log| log > CODEWORD.into())
            || erasures.contains(&CODEWORD)
        {
            return Err(EINVAL);
        }
        let mut errors = Errors {
            positions: [0; MAX_ROOTS],
            values: [0; MAX_ROOTS],
            count: 0,
        };
        for (to, &from) in errors.positions.iter_mut().zip(erasures) {
            *to = from.into();
        }
        let parity = self.roots as c_int;
        // SAFETY: By the type invariant, `rs` is valid, and `&mut self` makes us its only user. As
        // syndromes are given, neither data nor parity are looked at. There is a syndrome for each
        // root, at most 255, and there are at most as many erasures as roots, each of them inside
        // of a codeword, as the function demands. It writes at most as many positions and values
        // as there are roots, which the arrays have room for. It does not write to the syndromes.
        let found = unsafe {
            bindings::decode_rs8(
                self.rs.as_ptr(),
                ptr::null_mut(),
                ptr::null_mut(),
                c_int::from(CODEWORD).wrapping_sub(parity),
                syndromes.as_ptr().cast_mut(),
                erasures.len() as c_int,
                errors.positions.as_mut_ptr(),
                0,
                errors.values.as_mut_ptr(),
            )
        };
        to_result(found)?;
        errors.count = found as usize;
        Ok(errors)
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, `self` owns the structure.
        unsafe { bindings::free_rs(self.rs.as_ptr()) }
    }
}
