// SPDX-License-Identifier: GPL-2.0

//! The journal goes to the device and comes from there.

use super::Area;
use crate::{
    commit::Sequence,
    failure::Failure,
    journal::SECTOR,
    journal_crypt::ENCRYPT,
    replay::Sections, //
};
use core::ops::Range;
use dm::{
    context::MaySleep,
    io::{
        self,
        Write, //
    },
    memory::Shared, //
};

impl Area {
    /// Writes sections of the ring to the device, through its cache.
    pub(crate) fn write(
        &self,
        io: &io::Client,
        sections: Sections,
        failure: &Failure,
        token: MaySleep<'_>,
    ) {
        let to_end = self.geometry.sections().saturating_sub(sections.first);
        let front = sections.count.min(to_end);
        let back = sections.count.saturating_sub(front);
        for (first, count) in [(sections.first, front), (0, back)] {
            for section in first..first.saturating_add(count) {
                self.sign(section, failure);
                if let Some(encrypted) = &self.encrypted {
                    let bytes = self.bytes(section, 1);
                    let result = encrypted.encrypt(&self.memory, section, bytes, token);
                    failure.check(ENCRYPT, result);
                }
            }
            self.write_from(
                self.on_device(),
                io,
                self.bytes(first, count),
                failure,
                token,
            );
        }
    }

    /// The sections as they are on the device.
    fn on_device(&self) -> &Shared {
        match &self.encrypted {
            Some(encrypted) => encrypted.memory(),
            None => &self.memory,
        }
    }

    /// Writes bytes of the area to the device as they are, through its cache, unless the device has
    /// failed.
    pub(crate) fn write_bytes(
        &self,
        io: &io::Client,
        bytes: Range<usize>,
        failure: &Failure,
        token: MaySleep<'_>,
    ) {
        self.write_from(&self.memory, io, bytes, failure, token);
    }

    fn write_from(
        &self,
        memory: &Shared,
        io: &io::Client,
        bytes: Range<usize>,
        failure: &Failure,
        token: MaySleep<'_>,
    ) {
        if bytes.is_empty() || failure.is_set() {
            return;
        }
        let sector = self.start.saturating_add((bytes.start / SECTOR) as u64);
        let how = Write::ThroughNow;
        let result = io.write_shared(&self.device, sector, memory, bytes, how, token);
        failure.check("writing journal", result);
    }

    /// Reads the front of the area from the device as it is, unless it has failed.
    pub(crate) fn read_bytes(
        &self,
        io: &io::Client,
        bytes: usize,
        failure: &Failure,
        token: MaySleep<'_>,
    ) {
        self.read_to(&self.memory, io, bytes, failure, token);
    }

    fn read_to(
        &self,
        memory: &Shared,
        io: &io::Client,
        bytes: usize,
        failure: &Failure,
        token: MaySleep<'_>,
    ) {
        if failure.is_set() {
            return;
        }
        let result = io.read_shared(&self.device, self.start, memory, 0..bytes, token);
        failure.check("reading journal", result);
    }

    /// Reads the journal from the device.
    pub(crate) fn read(&self, io: &io::Client, failure: &Failure, token: MaySleep<'_>) {
        let bytes = self.bytes(0, self.geometry.sections());
        self.read_to(self.on_device(), io, bytes.end, failure, token);
        let Some(encrypted) = &self.encrypted else {
            return;
        };
        for section in 0..self.geometry.sections() {
            if failure.is_set() {
                return;
            }
            let bytes = self.bytes(section, 1);
            let result = encrypted.decrypt(&self.memory, section, bytes, token);
            failure.check(ENCRYPT, result);
        }
    }

    /// Empties sections of the ring, and writes them.
    pub(crate) fn erase(
        &self,
        io: &io::Client,
        sections: Sections,
        sequence: Sequence,
        failure: &Failure,
        token: MaySleep<'_>,
    ) {
        let all = self.geometry.sections();
        for n in 0..sections.count {
            let section = sections.first.saturating_add(n);
            let section = match section < all {
                true => section,
                false => section.saturating_sub(all),
            };
            self.clear(section, sequence);
        }
        self.write(io, sections, failure, token);
    }
}
