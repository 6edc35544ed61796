// SPDX-License-Identifier: GPL-2.0

//! Before the first bio, and after the last one.

use crate::{
    replay::Sections,
    superblock::{
        Content,
        Flags,
        Superblock, //
    },
    table::Mode,
    target::{
        Integrity,
        COMMIT, //
    },
    LOG, //
};
use core::sync::atomic::Ordering;
use dm::{
    context::MaySleep,
    io::Write,
    target::Target, //
};
use kernel::prelude::*;

impl Integrity {
    /// Writes the superblock, which lasts when this returns. May sleep.
    pub(crate) fn write_superblock(&self, token: MaySleep<'_>) {
        let superblock = self.state.lock().superblock;
        let how = Write::Through;
        let result = self
            .file
            .write(&self.io, superblock, how, &self.failure, token);
        self.failure.check("writing superblock", result);
    }

    /// Changes the superblock in memory.
    pub(crate) fn change_superblock<R>(&self, f: impl FnOnce(&mut Superblock) -> R) -> R {
        f(&mut self.state.lock().superblock)
    }

    /// Reads the superblock again, and prepares journal and bitmap for bios.
    pub(crate) fn resumed(&self, ti: &Target, token: MaySleep<'_>) {
        self.journal_used.store(false, Ordering::Relaxed);
        let Some(old) = self.read_superblock_again(token) else {
            return;
        };
        if self.mode == Mode::Recovery {
            return;
        }
        self.keep_flags(&old, token);
        self.resize(&old, token);
        let dirty = self.change_superblock(|s| s.flags.contains(Flags::DIRTY_BITMAP));
        match dirty {
            true => self.resume_dirty_bitmap(ti, token),
            false => self.resume_journal(ti, token),
        }
        if let Some(inline) = &self.inline {
            inline.set_calculated(self.state.lock().superblock.recalculation());
        }
        self.start_recalculation(ti, token);
    }

    /// Returns the superblock as it was in memory, if what is on the disk is the volume of the
    /// table.
    fn read_superblock_again(&self, token: MaySleep<'_>) -> Option<Superblock> {
        let result = self.file.read(&self.io, &self.failure, token, Content::of);
        let mut state = self.state.lock();
        let old = state.superblock;
        match result {
            Ok(Content::Superblock(new)) if !self.opened.is_other_volume(&new) => {
                state.superblock = new;
                return Some(old);
            }
            // In recovery mode, there need be none.
            Ok(_) if self.mode == Mode::Recovery => return Some(old),
            Ok(_) => {}
            Err(error) => {
                drop(state);
                self.failure.set("reading superblock", error);
                return Some(old);
            }
        }
        drop(state);
        LOG.error(fmt!(
            "The superblock was changed while the device was suspended"
        ));
        self.failure.set("superblock check", EINVAL);
        None
    }

    /// Sets the flags that the table asks for and the disk does not have yet.
    fn keep_flags(&self, old: &Superblock, token: MaySleep<'_>) {
        let keyed = self.settings.has_keyed_discards();
        let changed = self.change_superblock(|superblock| {
            let before = superblock.flags;
            if old.flags.contains(Flags::RECALCULATING) {
                superblock.flags.set(Flags::RECALCULATING, true);
            }
            if keyed {
                superblock.flags.set(Flags::DISCARD_KEYED, true);
            }
            superblock.flags != before
        });
        if changed {
            self.write_superblock(token);
        }
    }

    /// Notes the size of the volume, if it is another.
    fn resize(&self, old: &Superblock, token: MaySleep<'_>) {
        let provided = self.layout.provided_data_sectors();
        if provided == old.provided_data_sectors {
            return;
        }
        if provided > old.provided_data_sectors {
            self.grow_bitmap(old.provided_data_sectors, token);
        }
        self.change_superblock(|superblock| superblock.provided_data_sectors = provided);
        self.write_superblock(token);
    }

    /// Replays the journal.
    fn resume_journal(&self, ti: &Target, token: MaySleep<'_>) {
        self.replay(ti, token);
        if self.settings.reset_recalculate {
            self.change_superblock(Superblock::start_recalculation);
        }
        if self.mode == Mode::Bitmap {
            self.begin_bitmap(token);
        }
    }

    fn journal_sections(&self) -> u32 {
        self.layout.journal().sections()
    }

    /// Waits until nothing is left to be done, and leaves the volume clean.
    pub(crate) fn suspended(&self, ti: &Target, token: MaySleep<'_>) {
        self.stop_recalculation(ti, token);
        ti.start_task(COMMIT);
        ti.flush_task(COMMIT, token);
        // It may have been asked for again meanwhile.
        ti.cancel_task(COMMIT, token);
        if self.mode == Mode::Journal {
            self.drain_journal(ti, token);
            ti.cancel_task(COMMIT, token);
            self.flush_devices(true, token);
            self.erase_used_journal(token);
        }
        if self.mode == Mode::Bitmap {
            self.suspend_bitmap(token);
        }
        self.journal_current.store(true, Ordering::Relaxed);
    }

    /// Leaves a journal with nothing in it, so that a volume can be read without writing to it.
    fn erase_used_journal(&self, token: MaySleep<'_>) {
        let Some(area) = &self.area else {
            return;
        };
        if !self.journal_used.load(Ordering::Relaxed) {
            return;
        }
        let (first, sequence) = {
            let state = self.state.lock();
            (state.ring.first_free(), state.ring.sequence)
        };
        let rest = self.journal_sections().saturating_sub(first);
        for (first, count, sequence) in [(first, rest, sequence), (0, first, sequence.next())] {
            let sections = Sections { first, count };
            if count != 0 {
                area.erase(&self.io, sections, sequence, &self.failure, token);
            }
        }
    }
}
