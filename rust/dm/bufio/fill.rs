// SPDX-License-Identifier: GPL-2.0

//! Reading what a block lacks.
//!
//! What is read goes elsewhere first, and only bytes that are still missing are copied from
//! there: others may write to the block meanwhile.

use super::{
    cache::Cache,
    contents::Contents,
    io::add_data,
    partial::Partial,
    ranges::{
        Ranges,
        Span, //
    },
    wait,
    writes::Writes, //
};
use crate::{
    bindings,
    context::MaySleep, //
};
use core::ptr::NonNull;
use kernel::{
    error::to_result,
    page::PAGE_SIZE,
    prelude::*, //
};

impl Cache {
    /// Makes the bytes of a block valid: all of them, or those that must be written out with what
    /// is dirty.
    ///
    /// The caller has a reference, or writes the buffer out.
    pub(super) fn fill(&self, object: &Partial, all: bool, token: MaySleep<'_>) -> Result {
        let writes = self.writes.as_ref().ok_or(EINVAL)?;
        let state = &object.head.state;
        while !state.begin_fill() {
            wait::until_not_filling(state, token);
        }
        let result = self.read_missing(writes, object, all, token);
        let word = state.as_ptr();
        state.end_fill();
        wait::not_filling(word);
        result
    }

    fn read_missing(
        &self,
        writes: &Writes,
        object: &Partial,
        all: bool,
        token: MaySleep<'_>,
    ) -> Result {
        let mut own = None;
        let mut along = true;
        let result = loop {
            let Some(run) = missing(writes, object, all, along) else {
                break Ok(());
            };
            if own.is_none() {
                own = self.obtain_now();
            }
            let read = match &own {
                Some(scratch) => self.read_run(object, run, scratch.data(), token),
                None => match writes.scratch.lock().as_ref() {
                    Some(scratch) => self.read_run(object, run, scratch.data(), token),
                    None => Err(EIO),
                },
            };
            match read {
                Ok(()) => (),
                // Perhaps only what is not needed cannot be read.
                Err(_) if along => along = false,
                Err(error) => break Err(error),
            }
        };
        if let Some(scratch) = own {
            self.give(scratch);
        }
        result
    }

    /// Reads a run of sectors into the same place of `scratch`, and copies what is missing.
    fn read_run(
        &self,
        object: &Partial,
        run: Span,
        scratch: NonNull<u8>,
        token: MaySleep<'_>,
    ) -> Result {
        let block = object.block();
        // SAFETY: The scratch is as large as a block, and the caller's.
        unsafe { self.read_now(block, run, scratch, token) }?;
        let mut contents = object.contents();
        // SAFETY: The scratch is as large as a block, and the caller's.
        match unsafe { object.copy_missing(&mut contents, run, scratch) } {
            true => Ok(()),
            false => Err(EIO),
        }
    }

    /// Reads a span of a block into the same place of `data`, and waits for it.
    ///
    /// # Safety
    ///
    /// `data` is a buffer of this shape that nobody else uses.
    unsafe fn read_now(
        &self,
        block: u64,
        span: Span,
        data: NonNull<u8>,
        _: MaySleep<'_>,
    ) -> Result {
        let sector = self.sector(block).ok_or(EIO)?;
        let vecs = span.len().div_ceil(PAGE_SIZE as u32).saturating_add(1);
        let bio = self.bios.read(&self.device, vecs).ok_or(EIO)?;
        // SAFETY: The bio is ours, and has room for the data, which is valid and nobody else's.
        unsafe {
            let at = bio.as_ptr();
            (*at).bi_iter.bi_sector = sector.saturating_add(u64::from(span.start / 512));
            let result = match add_data(&self.shape, at, data, span) {
                true => to_result(bindings::submit_bio_wait(at)),
                false => Err(EIO),
            };
            bindings::bio_put(at);
            result
        }
    }
}

impl Partial {
    /// Makes the bytes of a run of sectors valid, by copying what is missing from the same place of
    /// `from`. Returns [`false`] if there would be too many ranges.
    ///
    /// # Safety
    ///
    /// `contents` is the locked one of this buffer. `from` is a buffer of the same shape that the
    /// caller owns.
    pub(super) unsafe fn copy_missing(
        &self,
        contents: &mut Contents,
        run: Span,
        from: NonNull<u8>,
    ) -> bool {
        for gap in contents.gaps(run) {
            let from = from.as_ptr().wrapping_add(gap.start as usize);
            let bytes = gap.len() as usize;
            // SAFETY: The gap is in the block, and so in both buffers. With the lock held, nobody
            // else accesses the bytes of this one; the function is C's, which copes with the
            // device.
            unsafe { bindings::memcpy(self.at(gap).cast(), from.cast(), bytes) };
        }
        contents.filled(run)
    }
}

/// The next run of sectors to be read; `along` adds whatever else is missing.
fn missing(writes: &Writes, object: &Partial, all: bool, along: bool) -> Option<Span> {
    let contents = object.contents();
    let needed = match all {
        true => Ranges::of(contents.all()),
        false => contents.pending(writes.geometry.unit),
    };
    match along {
        true => contents.all_missing(&needed, writes.geometry.sector),
        false => contents.missing(&needed, writes.geometry.sector),
    }
}
