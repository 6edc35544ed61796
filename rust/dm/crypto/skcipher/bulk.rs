// SPDX-License-Identifier: GPL-2.0

//! A cipher over much memory at once, as a journal has it.
//!
//! There are modes that cannot be done piece by piece, so one request goes over all the pages.

use super::{
    Cipher,
    Direction,
    Request,
    Workspace,
    SG_END, //
};
use crate::{
    alloc,
    bindings,
    context::MaySleep,
    memory::Shared, //
};
use kernel::{
    ffi::c_uint,
    page::PAGE_SIZE,
    prelude::*, //
};

/// A cipher with all it needs to work on shared memory without allocating.
pub struct Bulk {
    cipher: Cipher,
    workspace: Workspace,
    src: KVVec<bindings::scatterlist>,
    dst: KVVec<bindings::scatterlist>,
}

// SAFETY: The lists are not used between requests.
unsafe impl Send for Bulk {}

impl Bulk {
    /// Sets aside what it takes to work on up to `longest` bytes, wherever they start. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(cipher: Cipher, longest: usize, token: MaySleep<'_>) -> Result<Self> {
        let pages = longest.div_ceil(PAGE_SIZE).saturating_add(1);
        Ok(Self {
            workspace: Workspace::new(&cipher, token)?,
            src: alloc::zeroed(pages, GFP_KERNEL)?,
            dst: alloc::zeroed(pages, GFP_KERNEL)?,
            cipher,
        })
    }

    /// Returns the cipher. Any context.
    pub fn cipher(&self) -> &Cipher {
        &self.cipher
    }

    /// Works on bytes where they are, as [`Request::in_place`] does. May sleep.
    ///
    /// # Errors
    ///
    /// Those of that function.
    pub fn in_place(
        &mut self,
        direction: Direction,
        bytes: &mut [u8],
        iv: &mut [u8],
        token: MaySleep<'_>,
    ) -> Result {
        let mut request = self.workspace.request(token);
        request.in_place(&self.cipher, direction, bytes, iv)
    }

    /// Works on `len` bytes from `offset` on of `from`, and puts the result at the same place of
    /// `to`, which may be the same. The front of `iv` is the vector. May sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is not so much of either or that is more than [was set aside
    /// for](Self::new), or an error of the algorithm.
    pub fn run(
        &mut self,
        direction: Direction,
        (offset, len): (usize, usize),
        from: &Shared,
        to: &Shared,
        iv: &[u8],
        token: MaySleep<'_>,
    ) -> Result {
        let same = core::ptr::eq(from, to);
        list(&mut self.src, from, offset, len)?;
        if !same {
            list(&mut self.dst, to, offset, len)?;
        }
        let mut request = self.workspace.request(token);
        // SAFETY: By the type invariant of requests, the frame is valid and ours.
        let frame = unsafe { request.frame.as_mut() };
        for (to, from) in frame.iv.iter_mut().zip(iv) {
            *to = *from;
        }
        frame.request.cryptlen = c_uint::try_from(len).map_err(|_| EINVAL)?;
        frame.request.src = self.src.as_mut_ptr();
        frame.request.dst = match same {
            true => frame.request.src,
            false => self.dst.as_mut_ptr(),
        };
        let (context, waits) = (request.context, request.waits);
        // SAFETY: The lists are of `len` bytes of memory that copes with races, and that stays
        // until the request is done; context and `waits` are those of the request.
        unsafe { Request::start(frame, &self.cipher, direction, context, waits) }
    }
}

/// Makes entries those of pages of memory.
fn list(
    entries: &mut [bindings::scatterlist],
    memory: &Shared,
    offset: usize,
    len: usize,
) -> Result {
    memory.at(offset, len).ok_or(EINVAL)?;
    let (mut at, mut left) = (offset, len);
    for entry in entries {
        let (page, skip) = memory.page(at).ok_or(EINVAL)?;
        let bytes = left.min(PAGE_SIZE.saturating_sub(skip));
        left = left.saturating_sub(bytes);
        at = at.saturating_add(bytes);
        entry.page_link = page.expose_provenance();
        entry.offset = skip as c_uint;
        entry.length = bytes as c_uint;
        if left == 0 {
            entry.page_link |= SG_END;
            return Ok(());
        }
    }
    Err(EINVAL)
}
