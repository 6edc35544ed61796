// SPDX-License-Identifier: GPL-2.0

//! Getting missing blocks into the cache.
//!
//! A read tries the cache without a lock first. If the block is missing, the thread that enters a
//! buffer for it is the one that reads it; all others find the buffer busy and wait for it.

use super::{
    cache::{
        Cache,
        Refused, //
    },
    io::Run,
    memory::{
        Head,
        Leaf,
        Owned, //
    },
    state::Status,
    wait, //
};
use crate::{
    bindings,
    context::MaySleep, //
};
use core::{
    ops::Range,
    ptr::NonNull, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// The references of a buffer that is read for nobody: the one of the I/O.
const AHEAD: usize = 1;

/// The references of a buffer that is read for the caller.
const HELD: usize = 2;

impl Cache {
    /// Returns a reference to a valid buffer with the block. Reads it if need be, and on that
    /// occasion those blocks of `around` that are missing, too.
    pub(super) fn read(
        &self,
        block: u64,
        around: Range<u64>,
        ioprio: u16,
        token: MaySleep<'_>,
    ) -> Result<NonNull<Head>> {
        let mut head = match self.join(block) {
            Some(head) => head,
            None => {
                check_context()?;
                self.fetch(block, around, ioprio, token)
            }
        };
        loop {
            // SAFETY: The reference is this function's.
            let state = wait::until_filled(unsafe { &head.as_ref().state }, token);
            let Some(status) = state.failure() else {
                return Ok(head);
            };
            // SAFETY: As above; the buffer is not used any more.
            unsafe { self.put(head) };
            if status != Status::RETRY {
                self.forget(block);
                // SAFETY: The function has no requirements.
                to_result(unsafe { bindings::blk_status_to_errno(status.0) })?;
                return Err(EIO);
            }
            check_context()?;
            head = self.fetch(block, block..block, ioprio, token);
        }
    }

    /// Starts the reads of those blocks of a range that are missing, as far as there is memory.
    pub(super) fn prefetch(&self, range: Range<u64>, ioprio: u16, token: MaySleep<'_>) {
        let end = range.end.min(self.device_blocks());
        let Some(first) = self.first_missing(range.start..end) else {
            return;
        };
        if check_context().is_ok() {
            self.ahead(first..end, &mut Run::new(self, ioprio, token));
        }
    }

    /// Starts to read a block and those around it, unless others do. Returns a reference to the
    /// buffer with the block.
    fn fetch(
        &self,
        block: u64,
        around: Range<u64>,
        ioprio: u16,
        token: MaySleep<'_>,
    ) -> NonNull<Head> {
        let mut run = Run::new(self, ioprio, token);
        let end = around.end.min(self.device_blocks());
        self.ahead(around.start..block.min(end), &mut run);
        let head = self.start(block, &mut run, token);
        self.ahead(block.saturating_add(1)..end, &mut run);
        head
    }

    /// Enters buffers for the missing blocks of a range, until there is no memory.
    fn ahead(&self, range: Range<u64>, run: &mut Run<'_>) {
        let mut at = range.start;
        while let Some(block) = self.first_missing(at..range.end) {
            if !self.start_ahead(block, run) {
                return;
            }
            at = block.saturating_add(1);
        }
    }

    /// Enters a buffer for a block, without waiting. Returns [`false`] if there is no memory.
    fn start_ahead(&self, block: u64, run: &mut Run<'_>) -> bool {
        let Some(mut buffer) = self.obtain_now() else {
            return false;
        };
        let mut spare = None;
        loop {
            let (done, left) = match self.enter(block, AHEAD, buffer, &mut spare) {
                Ok(head) => {
                    // SAFETY: It has the block, and this made it busy.
                    unsafe { run.push(head, block) };
                    (true, None)
                }
                Err(Refused::Exists(back)) => (true, Some(back)),
                Err(Refused::NeedsLeaf(back)) => {
                    spare = self.obtain_leaf_now();
                    if spare.is_some() {
                        buffer = back;
                        continue;
                    }
                    (false, Some(back))
                }
            };
            self.give_spare(spare);
            if let Some(buffer) = left {
                self.give(buffer);
            }
            return done;
        }
    }

    /// Returns a reference to the buffer with the block, which is entered if there is none, and
    /// added to the run if nobody else reads it.
    fn start(&self, block: u64, run: &mut Run<'_>, token: MaySleep<'_>) -> NonNull<Head> {
        loop {
            if let Some(head) = self.revive(block, run) {
                return head;
            }
            if let Some(head) = self.start_new(block, run, token) {
                return head;
            }
        }
    }

    /// Enters a buffer for a block unless it has one.
    fn start_new(
        &self,
        block: u64,
        run: &mut Run<'_>,
        token: MaySleep<'_>,
    ) -> Option<NonNull<Head>> {
        // Before this waits, since others may wait for the buffers of the run, and hold what
        // this is about to wait for.
        let buffer = self.obtain_now().unwrap_or_else(|| {
            run.send();
            self.obtain(token)
        });
        match self.enter_waiting(block, HELD, buffer, || run.send(), token) {
            Ok(head) => {
                // SAFETY: It has the block, and this made it busy.
                unsafe { run.push(head, block) };
                Some(head)
            }
            Err(buffer) => {
                self.give(buffer);
                None
            }
        }
    }

    /// Enters a buffer for a block. Calls `before` before it waits for a leaf.
    ///
    /// Returns the buffer if the block has got one meanwhile.
    pub(super) fn enter_waiting(
        &self,
        block: u64,
        holders: usize,
        mut buffer: Owned,
        mut before: impl FnMut(),
        token: MaySleep<'_>,
    ) -> Result<NonNull<Head>, Owned> {
        let mut spare = None;
        loop {
            let entered = self.enter(block, holders, buffer, &mut spare);
            if let Err(Refused::NeedsLeaf(back)) = entered {
                buffer = back;
                spare = Some(self.obtain_leaf_now().unwrap_or_else(|| {
                    before();
                    self.obtain_leaf(token)
                }));
                continue;
            }
            self.give_spare(spare);
            return entered.map_err(Refused::into_buffer);
        }
    }

    fn give_spare(&self, spare: Option<NonNull<Leaf>>) {
        if let Some(leaf) = spare {
            self.give_leaf(leaf);
        }
    }

    /// Returns a reference to the buffer that has the block. If that failed, it is read again.
    fn revive(&self, block: u64, run: &mut Run<'_>) -> Option<NonNull<Head>> {
        let inner = self.lock();
        let buffer = self.find(&inner, block)?;
        let head = NonNull::from(buffer);
        let restarted = buffer.state.try_restart(HELD);
        if !restarted && !buffer.state.try_join() {
            return None;
        }
        drop(inner);
        if restarted {
            // SAFETY: It has the block, and this made it busy, so that nobody else has access to
            // the typed data, which is to be that of a block that was just read.
            unsafe {
                self.shape.init(head);
                run.push(head, block);
            }
        }
        Some(head)
    }
}

/// Refuses to do I/O where that would wait for itself.
///
/// Below a `submit_bio` new bios are only collected, and go out when it returns.
pub(super) fn check_context() -> Result {
    // SAFETY: The helper has no requirements.
    if unsafe { bindings::rdm_in_submit() } {
        kernel::pr_warn_once!("bufio: called where bios are submitted\n");
        return Err(EINVAL);
    }
    Ok(())
}
