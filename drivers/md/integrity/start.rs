// SPDX-License-Identifier: GPL-2.0

//! The way of a bio: what is done with it, part by part, until it ends.

use crate::{
    progress::Step,
    state::State,
    table::Mode,
    target::{
        Integrity,
        COMMIT,
        FLUSH_BITMAP, //
    },
};
use core::sync::atomic::Ordering;
use dm::{
    bio::{
        BlockStatus,
        Handed,
        Op,
        Owned, //
    },
    context::MaySleep,
    target::Target, //
};

/// What is to be done with a bio.
pub(crate) enum Plan {
    /// It waits for its range.
    Wait,
    /// It waits for room in the journal.
    WaitForRoom,
    /// Its part is copied to these entries of the journal.
    Fill(u32),
    /// Its part is locked.
    Locked,
}

impl Integrity {
    /// Starts on the first part of a bio, or on the next. `map` has no token.
    pub(crate) fn start<'a>(
        &self,
        ti: &Target,
        mut bio: Owned<'a, Self>,
        token: Option<MaySleep<'_>>,
    ) -> Handed<'a> {
        loop {
            let mut state = self.state.lock();
            if self.failure.is_set() {
                drop(state);
                return self.end(ti, bio, BlockStatus::OK);
            }
            match self.plan(&mut state, &mut bio) {
                Plan::Wait => {
                    let (kept, handed) = bio.keep();
                    state.wait(kept);
                    return handed;
                }
                Plan::WaitForRoom => {
                    let (kept, handed) = bio.keep();
                    state.ring.waiting.push(kept);
                    drop(state);
                    ti.start_task(COMMIT);
                    return handed;
                }
                Plan::Fill(entry) => {
                    drop(state);
                    let result = self.fill_journal(ti, &bio, entry);
                    if result.is_ok() && bio.data_mut().advance() {
                        continue;
                    }
                    return self.finish_last(ti, bio, result.into());
                }
                Plan::Locked => {
                    drop(state);
                    return self.locked(ti, bio, token);
                }
            }
        }
    }

    /// Decides on the next part of a bio, and locks it.
    fn plan(&self, state: &mut State, bio: &mut Owned<'_, Self>) -> Plan {
        let progress = bio.data_mut();
        progress.part = progress.left;
        progress.journal = None;
        if self.mode == Mode::Journal {
            match progress.op {
                Op::Write => return self.plan_fill(state, progress),
                Op::Read => self.plan_read(state, progress),
                _ => {}
            }
        }
        let range = progress.range();
        if !state.try_hold(range) {
            return Plan::Wait;
        }
        progress.trusted = state.is_calculated(range);
        Plan::Locked
    }

    /// Goes on with a bio whose part is locked.
    pub(crate) fn locked<'a>(
        &self,
        ti: &Target,
        bio: Owned<'a, Self>,
        token: Option<MaySleep<'_>>,
    ) -> Handed<'a> {
        let mut bio = match self.mark_first(ti, bio) {
            Ok(bio) => bio,
            Err(handed) => return handed,
        };
        let next = match bio.data().op {
            Op::Read if bio.data().journal.is_some() => return self.read_journal(ti, bio, token),
            Op::Read => return self.submit_data(bio),
            Op::Write if self.tagger.is_some() || self.takes_tags => Step::WriteTags,
            Op::Write => return self.submit_data(bio),
            _ => Step::Discard,
        };
        bio.data_mut().step = next;
        match token {
            Some(token) => self.go_on(ti, bio, token),
            None => bio.queue(&self.queues.metadata),
        }
    }

    /// Sends the part of a bio to the device.
    pub(crate) fn submit_data<'a>(&self, bio: Owned<'a, Self>) -> Handed<'a> {
        let progress = bio.data();
        let sector = self.layout.data_sector(progress.sector);
        let (offset, bytes) = (progress.offset(), progress.bytes());
        bio.submit_part(&self.device, sector, offset, bytes)
    }

    /// Takes a bio back from the device. Any context.
    pub(crate) fn completed<'a>(&self, ti: &Target, mut bio: Owned<'a, Self>) -> Handed<'a> {
        let status = bio.status();
        let checked = bio.data().op == Op::Read
            && bio.data().trusted
            && self.mode != Mode::Recovery
            && (self.tagger.is_some() || self.takes_tags);
        if status.is_ok() && checked {
            bio.data_mut().step = Step::Verify;
            return bio.queue(&self.queues.metadata);
        }
        self.finish_part(ti, bio, status)
    }

    /// Goes on with a bio on a queue.
    pub(crate) fn go_on<'a>(
        &self,
        ti: &Target,
        mut bio: Owned<'a, Self>,
        token: MaySleep<'_>,
    ) -> Handed<'a> {
        match bio.data().step {
            Step::Start => self.start(ti, bio, Some(token)),
            Step::Locked => self.granted(ti, bio, token),
            Step::WriteTags => match self.write_tags(&bio, token) {
                Ok(()) => self.submit_data(bio),
                Err(error) => self.finish_part(ti, bio, error.into()),
            },
            Step::Verify => {
                let status = self.verify(ti, &mut bio, token);
                self.finish_part(ti, bio, status)
            }
            Step::FromJournal => self.read_journal(ti, bio, Some(token)),
            Step::Discard => self.discard(ti, bio, token),
        }
    }

    /// Goes on with a bio that has waited for its range.
    fn granted<'a>(
        &self,
        ti: &Target,
        mut bio: Owned<'a, Self>,
        token: MaySleep<'_>,
    ) -> Handed<'a> {
        let range = bio.data().range();
        let mut state = self.state.lock();
        if self.is_moved(&state, bio.data()) {
            // The journal has changed meanwhile.
            let granted = state.release(range);
            drop(state);
            self.hand_on(granted);
            return self.start(ti, bio, Some(token));
        }
        bio.data_mut().trusted = state.is_calculated(range);
        drop(state);
        if self.failure.is_set() {
            return self.finish_part(ti, bio, BlockStatus::OK);
        }
        self.locked(ti, bio, Some(token))
    }

    /// Gives up the part of a bio, and goes on with what is after it. Any context.
    pub(crate) fn finish_part<'a>(
        &self,
        ti: &Target,
        mut bio: Owned<'a, Self>,
        status: BlockStatus,
    ) -> Handed<'a> {
        self.release(bio.data().range());
        if bio.data().op != Op::Read {
            ti.start_task_after(COMMIT, self.settings.commit_time);
        }
        if status.is_ok() && bio.data_mut().advance() {
            return bio.queue(&self.queues.offload);
        }
        self.finish_last(ti, bio, status)
    }

    /// Ends a bio of which no part is left, at once or when it is on the medium. Any context.
    pub(crate) fn finish_last<'a>(
        &self,
        ti: &Target,
        bio: Owned<'a, Self>,
        status: BlockStatus,
    ) -> Handed<'a> {
        if bio.data().fua && status.is_ok() && !self.failure.is_set() {
            return self.flush_later(ti, bio);
        }
        self.end(ti, bio, status)
    }

    /// Has a bio end after the next commit. Any context.
    pub(crate) fn flush_later<'a>(&self, ti: &Target, bio: Owned<'a, Self>) -> Handed<'a> {
        let (kept, handed) = bio.keep();
        self.state.lock().flushes.push(kept);
        ti.start_task(COMMIT);
        handed
    }

    /// Ends a bio, with an error if the device has failed. Any context.
    pub(crate) fn end<'a>(
        &self,
        ti: &Target,
        bio: Owned<'a, Self>,
        status: BlockStatus,
    ) -> Handed<'a> {
        let status = self.failure.status(status);
        let lasting = self.is_synchronous.load(Ordering::Relaxed) && status.is_ok();
        if lasting && bio.data().op == Op::Write {
            let (kept, handed) = bio.keep();
            self.state.lock().synchronous.push(kept);
            ti.start_task(FLUSH_BITMAP);
            return handed;
        }
        bio.end(status)
    }
}
