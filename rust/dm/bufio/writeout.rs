// SPDX-License-Identifier: GPL-2.0

//! Writing dirty buffers out.
//!
//! One thread per cache writes at a time, and has the turn meanwhile. It takes buffers out of the
//! list of dirty ones, reads what they lack, many at a time, submits their dirty ranges, and waits
//! for all of them. A buffer that is changed while it is being written is dirty again, and back in
//! the list when that ends.
//!
//! No reference is needed for that: nobody takes a buffer away that is dirty or being written.
//! Who has the turn waits for I/O only, and never for memory that others hold.

use super::{
    atomic::Ordering,
    cache::Cache,
    fetch::check_context,
    io::{
        add_data,
        plugged, //
    },
    limit,
    list::List,
    memory::Head,
    partial::Partial,
    ranges::Span,
    wait,
    wakeup::Flight,
    writes::{
        Goal,
        Writes, //
    },
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
    error::to_result,
    page::PAGE_SIZE,
    prelude::*,
    sync::rcu, //
};

/// How many times as many buffers may be dirty as are clean before some are written.
const RATIO: usize = 3;

/// How many may be dirty in any case.
const FEW: usize = 16;

/// How many buffers are written where not all have to be.
const ROUND: usize = 16;

/// Which buffers to write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// All.
    Any,
    /// Those of which nothing has to be read first.
    Complete,
}

impl Cache {
    /// Makes a buffer dirty whose contents the caller has locked. Returns whether there are more
    /// dirty buffers now.
    pub(super) fn mark_dirty(&self, object: &Partial) -> bool {
        // Buffers become clean with the contents locked.
        if object.head.state.load().is_dirty() {
            return false;
        }
        let mut inner = self.lock();
        let more = object.head.state.set_dirty();
        if more {
            // SAFETY: It is in no list, since it was neither dirty nor being written. It stays
            // valid as long as it is dirty.
            unsafe { inner.dirty.push_back(NonNull::from(object)) };
            self.count_dirty(inner.dirty.len());
        }
        more
    }

    fn count_dirty(&self, count: usize) {
        if let Some(writes) = &self.writes {
            writes.dirty.store(count, Ordering::Relaxed);
        }
    }

    /// Whether a buffer must not be changed now, with its contents locked.
    pub(super) fn must_keep_still(&self, object: &Partial) -> bool {
        let stable = self.writes.as_ref().is_some_and(|writes| writes.stable);
        stable && object.head.state.load().is_writing()
    }

    /// Whether too much of the cache is dirty.
    fn is_unbalanced(&self, writes: &Writes) -> bool {
        let dirty = writes.dirty.load(Ordering::Relaxed);
        let clean = self.cached().saturating_sub(dirty);
        dirty > FEW && dirty > clean.saturating_mul(RATIO)
    }

    /// Starts to write in the background if too much is dirty. Any context.
    pub(super) fn balance(&self) {
        if let Some(writes) = &self.writes {
            let patience = writes.patience.load(Ordering::Relaxed);
            let dirty = writes.dirty.load(Ordering::Relaxed);
            if dirty > patience && self.is_unbalanced(writes) {
                writes.kick(Goal::Balance);
            }
        }
    }

    /// Starts to write in the background, for somebody who needs memory. Any context.
    pub(super) fn want_room(&self) {
        if let Some(writes) = &self.writes {
            if writes.dirty.load(Ordering::Relaxed) > 0 {
                writes.kick(Goal::Room);
            }
        }
    }

    /// Writes what is dirty until enough is clean: first what needs no read. As long as there is
    /// memory, the others may yet become complete.
    pub(super) fn write_to_balance(&self, writes: &Writes, token: MaySleep<'_>) {
        for which in [Which::Complete, Which::Any] {
            if which == Which::Any && limit::has_room() {
                break;
            }
            let mut left = writes.dirty.load(Ordering::Relaxed);
            while left > 0 && self.is_unbalanced(writes) {
                let _turn = writes.turn.lock();
                self.write_round(writes, ROUND.min(left), which, token);
                left = left.saturating_sub(ROUND);
            }
        }
        // If that did not do, it would not do either if it was tried again at once.
        let dirty = writes.dirty.load(Ordering::Relaxed);
        let patience = match self.is_unbalanced(writes) {
            true => dirty.saturating_add(dirty / 4),
            false => 0,
        };
        writes.patience.store(patience, Ordering::Relaxed);
    }

    /// Writes some of what is dirty, so that it can be evicted.
    pub(super) fn write_for_room(&self, writes: &Writes, token: MaySleep<'_>) {
        let _turn = writes.turn.lock();
        self.write_round(writes, ROUND, Which::Any, token);
    }

    /// Writes some of what is dirty for the caller, who needs a buffer. Returns [`false`] if
    /// nothing is dirty.
    pub(super) fn relieve(&self, token: MaySleep<'_>) -> bool {
        let Some(writes) = &self.writes else {
            return false;
        };
        let dirty = writes.dirty.load(Ordering::Relaxed) > 0;
        if dirty {
            self.write_for_room(writes, token);
        }
        dirty
    }

    /// Writes all that is dirty when this is called.
    pub(super) fn write_all(&self, writes: &Writes, token: MaySleep<'_>) {
        let _turn = writes.turn.lock();
        self.write_round(writes, usize::MAX, Which::Any, token);
    }

    /// Writes what is dirty when this is called and needs no read.
    pub(super) fn write_complete(&self, writes: &Writes, token: MaySleep<'_>) {
        let _turn = writes.turn.lock();
        self.write_round(writes, usize::MAX, Which::Complete, token);
    }

    /// Starts to write what is dirty and needs no read.
    pub(super) fn write_complete_async(&self) {
        if let Some(writes) = &self.writes {
            writes.kick(Goal::Complete);
        }
    }

    /// Starts to write all that is dirty.
    pub(super) fn write_dirty_async(&self) {
        if let Some(writes) = &self.writes {
            writes.kick(Goal::All);
        }
    }

    /// Writes all that is dirty, and what could not be written before; then flushes the device.
    /// Returns the first error since the last call.
    pub(super) fn write_dirty(&self, token: MaySleep<'_>) -> Result {
        check_context()?;
        let writes = self.writes.as_ref().ok_or(EINVAL)?;
        if writes.take_failed() {
            self.retry(token);
        }
        self.write_all(writes, token);
        let result = writes.take_error();
        let flushed = self.issue_flush(token);
        result.and(flushed)
    }

    /// Flushes the cache of the device.
    pub(super) fn issue_flush(&self, _: MaySleep<'_>) -> Result {
        check_context()?;
        // SAFETY: The device is open.
        to_result(unsafe { bindings::blkdev_issue_flush(self.device.bdev()) })
    }

    /// Makes those buffers dirty again that could not be written.
    pub(super) fn retry(&self, token: MaySleep<'_>) {
        for _ in 0..self.cached() {
            let Some(head) = self.join_next() else {
                return;
            };
            // SAFETY: The reference is this function's, and the cache is one that is written.
            unsafe {
                wait::until_filled(&head.as_ref().state, token);
                let object = head.cast::<Partial>().as_ref();
                let contents = object.contents();
                if contents.is_dirty() {
                    let _more = self.mark_dirty(object);
                }
                drop(contents);
                self.put(head);
            }
        }
    }

    /// Takes a reference to the first buffer of the clock, and moves it to the end.
    fn join_next(&self) -> Option<NonNull<Head>> {
        let mut inner = self.lock();
        for _ in 0..inner.clock.len() {
            let head = inner.clock.front()?;
            inner.clock.rotate();
            // SAFETY: Buffers in the clock are valid.
            if unsafe { head.as_ref() }.state.try_join() {
                return Some(head);
            }
        }
        None
    }

    /// Writes up to `most` of the buffers that are dirty now, and waits for them. The caller has
    /// the turn.
    fn write_round(&self, writes: &Writes, most: usize, which: Which, token: MaySleep<'_>) {
        let mut todo = self.take_dirty(most);
        let mut sent = List::new();
        writes.flight.begin();
        plugged(|| {
            while todo.len() > 0 {
                let mut ready = match which {
                    Which::Any => self.fill_some(writes, &mut todo, token),
                    Which::Complete => core::mem::replace(&mut todo, List::new()),
                };
                while let Some(object) = ready.pop_front() {
                    // SAFETY: It is dirty, so that it stays valid.
                    let partial = unsafe { object.as_ref() };
                    match self.send(writes, partial, which, token) {
                        // SAFETY: It was just taken out of its list, and is valid while it is
                        // written.
                        true => unsafe { sent.push_back(object) },
                        // SAFETY: As above, while it is dirty.
                        false => unsafe { self.lock().dirty.push_back(object) },
                    }
                }
            }
        });
        wait::until_landed(&writes.flight, token);
        while let Some(object) = sent.pop_front() {
            // SAFETY: It is being written, so that it stays valid until this ends that.
            self.end_write(writes, unsafe { object.as_ref() });
        }
        self.count_dirty(self.lock().dirty.len());
        writes.patience.store(0, Ordering::Relaxed);
        wait::released();
    }

    /// Takes buffers out of the list of dirty ones.
    fn take_dirty(&self, most: usize) -> List<Partial> {
        let mut taken = List::new();
        let mut inner = self.lock();
        if most >= inner.dirty.len() {
            core::mem::swap(&mut taken, &mut inner.dirty);
            return taken;
        }
        for _ in 0..most {
            let Some(object) = inner.dirty.pop_front() else {
                break;
            };
            // SAFETY: It was just taken out of its list, and is valid as long as it is dirty.
            unsafe { taken.push_back(object) };
        }
        taken
    }

    /// Starts to write a dirty buffer. Returns [`false`] if it is not of the kind that is wanted.
    fn send(&self, writes: &Writes, object: &Partial, which: Which, token: MaySleep<'_>) -> bool {
        let geometry = writes.geometry;
        let mut filled = Ok(());
        loop {
            let mut contents = object.contents();
            let needed = contents.pending(geometry.unit);
            let missing = contents.missing(&needed, geometry.sector).is_some();
            if !missing || filled.is_err() {
                object.head.state.begin_write();
                let ranges = contents.begin_write(geometry.unit);
                drop(contents);
                match filled {
                    Ok(()) => ranges.iter().for_each(|span| {
                        let bio = self.bios.write(&self.device, vecs_of(span));
                        self.submit(bio, &writes.flight, object, span);
                    }),
                    Err(e) => set_status(object, e),
                }
                return true;
            }
            drop(contents);
            if which == Which::Complete {
                return false;
            }
            filled = self.fill(object, false, token);
        }
    }

    /// Submits a bio for a span of a buffer. An error is noted with the buffer.
    ///
    /// The buffer is one that is being written, or the caller's own, and so are the bytes of the
    /// span; it is not given up before the flight has landed.
    pub(super) fn submit(
        &self,
        bio: Option<NonNull<bindings::bio>>,
        flight: &Flight,
        object: &Partial,
        span: Span,
    ) {
        let (Some(sector), Some(bio)) = (self.sector(object.block()), bio) else {
            set_status(object, EIO);
            return;
        };
        let extra = object.extra();
        extra
            .flight
            .store(ptr::from_ref(flight).cast_mut(), Ordering::Relaxed);
        flight.add();
        // SAFETY: The bio is ours until it is submitted, and ends once. The data is valid, and
        // stays so until the flight has landed.
        unsafe {
            let at = bio.as_ptr();
            (*at).bi_private = ptr::from_ref(object).cast_mut().cast();
            (*at).bi_end_io = Some(end_io);
            (*at).bi_iter.bi_sector = sector.saturating_add(u64::from(span.start / 512));
            if add_data(&self.shape, at, object.head.data, span) {
                bindings::submit_bio(at);
            } else {
                (*at).bi_status = bindings::RDM_BLK_STS_IOERR as bindings::blk_status_t;
                bindings::bio_endio(at);
            }
        }
    }

    /// Ends writing a buffer, whose bios have ended. It may be gone afterwards.
    fn end_write(&self, writes: &Writes, object: &Partial) {
        let status = object.extra().status.swap(0, Ordering::Relaxed);
        object.contents().end_write(status == 0);
        if status != 0 {
            // SAFETY: The function has no requirements.
            let errno = unsafe { bindings::blk_status_to_errno(status as u8) };
            writes.fail(Error::from_errno(errno));
        }
        let word = object.head.state.as_ptr();
        let mut inner = self.lock();
        if object.head.state.end_write() {
            // SAFETY: It was changed meanwhile, so that it is dirty, and in no list.
            unsafe { inner.dirty.push_back(NonNull::from(object)) };
        }
        drop(inner);
        wait::written(word);
    }
}

/// The entries of a bio that a span may take.
pub(super) fn vecs_of(span: Span) -> u32 {
    span.len().div_ceil(PAGE_SIZE as u32).saturating_add(1)
}

/// Takes note of an error of a buffer that is being written.
fn set_status(object: &Partial, error: Error) {
    // SAFETY: The function has no requirements.
    let status = unsafe { bindings::errno_to_blk_status(error.to_errno()) };
    let status = u32::from(status);
    object.extra().status.store(status, Ordering::Relaxed);
}

/// Ends a bio. Any context.
///
/// # Safety
///
/// `bio` is a bio of [`Cache::submit`].
unsafe extern "C" fn end_io(bio: *mut bindings::bio) {
    // Once the last bio has ended, the client may go, and the module with it. Its code stays
    // until those are done who are in here.
    let _rcu = rcu::read_lock();
    // SAFETY: The bio is ours again, and goes before the set does. Buffer and flight stay until
    // the flight has landed, for which somebody waits.
    unsafe {
        let object = (*bio).bi_private.cast::<Partial>();
        let status = (*bio).bi_status;
        bindings::bio_put(bio);
        let extra = (*object).extra();
        if status != 0 {
            extra.status.store(status.into(), Ordering::Relaxed);
        }
        wait::landed(&*extra.flight.load(Ordering::Relaxed));
    }
}
