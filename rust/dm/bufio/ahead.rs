// SPDX-License-Identifier: GPL-2.0

//! Reading what several blocks lack at the same time, before they are written out.
//!
//! Each block is read into a buffer of its own, as in [`fill`](super::fill), and all of them are
//! waited for once. This only saves time: whatever is still missing afterwards, since there was no
//! memory or since a read failed, is read there, and that finds the errors.

use super::{
    atomic::Ordering,
    cache::Cache,
    contents::Contents,
    list::List,
    memory::Owned,
    partial::Partial,
    wait,
    writeout::vecs_of,
    writes::Writes, //
};
use crate::context::MaySleep;
use core::{
    ptr,
    ptr::NonNull, //
};

/// How many blocks are read at the same time, into as many buffers that others may have to go for.
const TOGETHER: usize = 32;

impl Cache {
    /// Takes some buffers out of a list of dirty ones, reads what they lack to be written out, and
    /// returns them. The caller has the turn.
    pub(super) fn fill_some(
        &self,
        writes: &Writes,
        todo: &mut List<Partial>,
        token: MaySleep<'_>,
    ) -> List<Partial> {
        let (mut ready, mut fills) = (List::new(), List::new());
        writes.reads.begin();
        for _ in 0..TOGETHER {
            let Some(object) = todo.pop_front() else {
                break;
            };
            // SAFETY: It was just taken out of its list, and is valid as long as it is dirty. The
            // scratch is in no list, and valid.
            unsafe {
                if let Some(scratch) = self.start_fill(writes, object.as_ref()) {
                    fills.push_back(scratch);
                }
                ready.push_back(object);
            }
        }
        if fills.len() > 0 {
            wait::until_landed(&writes.reads, token);
        }
        while let Some(scratch) = fills.pop_front() {
            // SAFETY: It was started above, has landed, and is in no list any more.
            unsafe { self.finish_fill(scratch) };
        }
        ready
    }

    /// Starts to read what a dirty buffer lacks to be written out, if it lacks something, nobody
    /// else reads that, and there is memory. Returns what it is read into, which knows the buffer.
    fn start_fill(&self, writes: &Writes, object: &Partial) -> Option<NonNull<Partial>> {
        let (unit, sector) = (writes.geometry.unit, writes.geometry.sector);
        let lacks = |contents: &Contents| contents.all_missing(&contents.pending(unit), sector);
        lacks(&object.contents())?;
        let scratch = self.obtain_now()?;
        if !object.head.state.begin_fill() {
            self.give(scratch);
            return None;
        }
        let scratch = self.scratch_for(object, scratch);
        // SAFETY: It is valid, and this function's.
        let own = unsafe { scratch.as_ref() };
        let mut read = Contents::nothing(self.shape.block_size as u32);
        let run = lacks(&object.contents());
        if let Some(run) = run.filter(|run| read.filled(*run)) {
            let bio = self.bios.read(&self.device, vecs_of(run));
            self.submit(bio, &writes.reads, own, run);
        }
        *own.contents() = read;
        Some(scratch)
    }

    /// Makes a buffer the one to read into for another.
    fn scratch_for(&self, object: &Partial, scratch: Owned) -> NonNull<Partial> {
        let head = scratch.into_raw();
        let of = ptr::from_ref(&object.head).cast_mut();
        // SAFETY: The buffer is valid, one of this shape, and this function's.
        unsafe {
            self.shape.init(head);
            let head = head.as_ref();
            head.block.store(object.block(), Ordering::Relaxed);
            head.chain.store(of, Ordering::Relaxed);
        }
        head.cast()
    }

    /// Copies what was read to where it is missing, and gives up what it was read into.
    ///
    /// # Safety
    ///
    /// `scratch` is from [`start_fill`](Self::start_fill), is in no list, and its bios have ended.
    /// The buffer that it is for is still dirty.
    unsafe fn finish_fill(&self, scratch: NonNull<Partial>) {
        // SAFETY: By the requirements of this function.
        let (own, object) = unsafe {
            let own = scratch.as_ref();
            let of = own.head.chain.load(Ordering::Relaxed).cast::<Partial>();
            (own, &*of)
        };
        let failed = own.extra().status.swap(0, Ordering::Relaxed) != 0;
        if !failed {
            let read = *own.contents();
            let mut contents = object.contents();
            for run in read.valid().iter() {
                // SAFETY: The scratch is of the same shape, and this function's.
                let _fits = unsafe { object.copy_missing(&mut contents, run, own.head.data) };
            }
        }
        let state = &object.head.state;
        let word = state.as_ptr();
        state.end_fill();
        wait::not_filling(word);
        // SAFETY: It was taken out of `Owned` in `scratch_for`, and nobody else has it.
        self.give(unsafe { Owned::from_raw(scratch.cast()) });
    }
}
