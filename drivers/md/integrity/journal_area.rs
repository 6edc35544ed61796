// SPDX-License-Identifier: GPL-2.0

//! The journal in memory, all of it; `disk` is how it gets to the disk and back.
//!
//! The last eight bytes of each sector of data are in the entry while the sector has a commit id in
//! their place.

mod disk;

use crate::{
    commit::{
        CommitIds,
        Sequence, //
    },
    failure::Failure,
    journal::{
        Geometry,
        COMMIT_ID,
        ENTRY_SECTORS,
        MAC,
        MAC_PART,
        MAC_PART_BYTES,
        SECTOR, //
    },
    journal_crypt::Encrypted,
    options::Algorithm,
    replay::Journal,
    superblock::SALT, //
};
use core::ops::Range;
use dm::{
    bio::Segment,
    context::MaySleep,
    crypto::{
        shash::{
            Hash,
            MAX_DIGEST_SIZE, //
        },
        Data, //
    },
    memory::Shared,
    secret::Secret,
    target::{
        args::TableError,
        device::Device, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The high half of the sector of an entry that is not in use.
const UNUSED: u64 = 0xffff_ffff_0000_0000;

/// A place for a block: an entry of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) section: u32,
    pub(crate) entry: u32,
}

/// The journal in memory.
pub(crate) struct Area {
    geometry: Geometry,
    memory: Shared,
    /// What is on the device, if that is something else.
    encrypted: Option<Encrypted>,
    ids: CommitIds,
    mac: Option<Arc<Hash>>,
    salt: Option<[u8; SALT]>,
    device: Device,
    /// The first sector of the journal on the device.
    start: u64,
}

impl Area {
    /// Allocates memory for a journal. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        geometry: Geometry,
        mac: Option<Arc<Hash>>,
        salt: Option<[u8; SALT]>,
        device: Device,
        start: u64,
        token: MaySleep<'_>,
    ) -> Result<Self> {
        let bytes = usize::try_from(geometry.bytes()).map_err(|_| ENOMEM)?;
        Ok(Self {
            geometry,
            memory: Shared::new(bytes, token)?,
            encrypted: None,
            ids: CommitIds::PLAIN,
            mac,
            salt,
            device,
            start,
        })
    }

    /// Has the journal encrypted on the device. May sleep.
    pub(crate) fn encrypt(
        &mut self,
        algorithm: &Algorithm<Secret>,
        failure: &Failure,
        token: MaySleep<'_>,
    ) -> Result<(), TableError> {
        let (encrypted, ids) =
            Encrypted::new(algorithm, &self.geometry, &self.memory, failure, token)?;
        self.encrypted = Some(encrypted);
        self.ids = ids;
        Ok(())
    }

    pub(crate) fn memory(&self) -> &Shared {
        &self.memory
    }

    /// The entries of a section.
    pub(crate) fn entries(&self) -> u32 {
        self.geometry.section_entries().into()
    }

    fn sectors(&self) -> u32 {
        self.geometry.section_sectors().into()
    }

    fn block_sectors(&self) -> u32 {
        self.geometry.block().sectors()
    }

    /// The place of an entry, counted from the first of the journal.
    #[inline]
    pub(crate) fn place(&self, entry: u32) -> Place {
        Place {
            section: entry.checked_div(self.entries()).unwrap_or(0),
            entry: entry.checked_rem(self.entries()).unwrap_or(0),
        }
    }

    /// The place after another, in the ring.
    #[inline]
    pub(crate) fn place_after(&self, place: Place) -> Place {
        let entry = place.entry.saturating_add(1);
        if entry < self.entries() {
            return Place { entry, ..place };
        }
        let section = place.section.saturating_add(1);
        Place {
            section: match section < self.geometry.sections() {
                true => section,
                false => 0,
            },
            entry: 0,
        }
    }

    /// The byte at which a sector of a section starts.
    #[inline]
    fn sector_at(&self, section: u32, sector: u32) -> usize {
        let sector = u64::from(section)
            .wrapping_mul(self.sectors().into())
            .wrapping_add(sector.into());
        usize::try_from(sector)
            .unwrap_or(usize::MAX)
            .saturating_mul(SECTOR)
    }

    #[inline]
    fn entry_at(&self, place: Place) -> usize {
        let row = (place.entry / ENTRY_SECTORS) as usize;
        self.sector_at(place.section, place.entry % ENTRY_SECTORS)
            .saturating_add(row.saturating_mul(self.geometry.entry_bytes().into()))
    }

    /// The byte at which the data of an entry starts.
    #[inline]
    pub(crate) fn data_at(&self, place: Place) -> usize {
        let sector = place
            .entry
            .saturating_mul(self.block_sectors())
            .saturating_add(ENTRY_SECTORS);
        self.sector_at(place.section, sector)
    }

    /// The bytes of a block.
    pub(crate) fn block_bytes(&self) -> usize {
        self.geometry.block().bytes() as usize
    }

    fn tag_at(&self, place: Place) -> usize {
        let last_bytes = (self.block_sectors() as usize).saturating_mul(8);
        self.entry_at(place)
            .saturating_add(8)
            .saturating_add(last_bytes)
    }

    /// The sector of an entry, unless it is not in use.
    pub(crate) fn sector_of(&self, place: Place) -> Option<u64> {
        let sector = u64::from_le_bytes(self.memory.load(self.entry_at(place)));
        (sector < UNUSED).then_some(sector)
    }

    /// Makes an entry one in use, once all the rest of it is written.
    pub(crate) fn set_sector(&self, place: Place, sector: u64) {
        self.memory
            .store(self.entry_at(place), sector.to_le_bytes());
    }

    /// Makes an entry one that is not in use.
    pub(crate) fn set_unused(&self, place: Place) {
        let sector = u64::from_le_bytes(self.memory.load(self.entry_at(place)));
        self.set_sector(place, sector | UNUSED);
    }

    /// Copies the tag of an entry out.
    #[must_use]
    pub(crate) fn read_tag(&self, place: Place, tag: &mut [u8]) -> bool {
        self.memory.read(self.tag_at(place), tag)
    }

    /// Copies a tag into an entry.
    #[must_use]
    pub(crate) fn write_tag(&self, place: Place, tag: &[u8]) -> bool {
        self.memory.write(self.tag_at(place), tag)
    }

    /// The data of an entry, to be hashed.
    pub(crate) fn data(&self, place: Place) -> Option<Data<'_>> {
        self.memory.data(self.data_at(place), self.block_bytes())
    }

    /// Where in the memory the last bytes of the sectors of a block are: in the data, and in the
    /// entry.
    fn last_bytes(&self, place: Place) -> impl Iterator<Item = (usize, usize)> {
        let (data, entry) = (self.data_at(place), self.entry_at(place));
        (0..self.block_sectors() as usize).map(move |n| {
            let in_data = n.saturating_mul(SECTOR).saturating_add(COMMIT_ID);
            let in_entry = n.saturating_mul(8).saturating_add(8);
            (data.saturating_add(in_data), entry.saturating_add(in_entry))
        })
    }

    /// Copies a block of a bio into the journal.
    #[must_use]
    pub(crate) fn fill(&self, place: Place, block: &Segment<'_>) -> bool {
        if !self.memory.copy_from(self.data_at(place), block) {
            return false;
        }
        for (data, entry) in self.last_bytes(place) {
            self.memory.store(entry, self.memory.load(data));
        }
        true
    }

    /// Copies a block of the journal to a bio.
    #[must_use]
    pub(crate) fn copy_to(&self, place: Place, block: &Segment<'_>) -> bool {
        if !self.memory.copy_to(self.data_at(place), block) {
            return false;
        }
        let start = self.data_at(place);
        self.last_bytes(place).all(|(data, entry)| {
            let offset = data.saturating_sub(start);
            let last = self.memory.load(entry);
            block
                .skip(offset)
                .is_some_and(|rest| rest.copy_from(&last) == last.len())
        })
    }

    /// Puts the last bytes of the sectors of a block back to where they were.
    pub(crate) fn restore(&self, place: Place) {
        for (data, entry) in self.last_bytes(place) {
            self.memory.store(data, self.memory.load(entry));
        }
    }

    /// Gives all sectors of a section the commit ids of a sequence.
    pub(crate) fn seal(&self, section: u32, sequence: Sequence) {
        for sector in 0..self.sectors() {
            let at = self.sector_at(section, sector).saturating_add(COMMIT_ID);
            let id = self.ids.id(section, sector, sequence);
            self.memory.store(at, id.to_le_bytes());
        }
    }

    /// Empties a section.
    pub(crate) fn clear(&self, section: u32, sequence: Sequence) {
        let bytes = (self.sectors() as usize).saturating_mul(SECTOR);
        let _ = self.memory.fill(self.sector_at(section, 0), bytes, 0);
        for entry in 0..self.entries() {
            self.set_unused(Place { section, entry });
        }
        self.seal(section, sequence);
    }

    fn compute_mac(&self, mac: &Hash, section: u32) -> Result<[u8; MAC]> {
        let mut digest = [0; MAX_DIGEST_SIZE];
        let number = u64::from(section).to_le_bytes();
        let place = self.salt.as_ref().map(|salt| [&salt[..], &number[..]]);
        let place = place.iter().flatten().map(|&part| part.into());
        let sectors = (0..self.entries()).filter_map(|entry| {
            let place = Place { section, entry };
            self.memory.data(self.entry_at(place), 8)
        });
        mac.digest_all(Iterator::chain(place, sectors), &mut digest)?;
        // Digests that are shorter are padded.
        let size = mac.digest_size();
        let mut result = [0; MAC];
        for (to, from) in result.iter_mut().zip(digest.iter().take(size)) {
            *to = *from;
        }
        Ok(result)
    }

    fn parts(&self, section: u32) -> impl Iterator<Item = usize> + '_ {
        (0..ENTRY_SECTORS)
            .map(move |sector| self.sector_at(section, sector).saturating_add(MAC_PART))
    }

    fn mac_of(&self, section: u32, failure: &Failure) -> Option<[u8; MAC]> {
        let mac = self.mac.as_ref()?;
        let result = self.compute_mac(mac, section);
        Some(result.unwrap_or_else(|error| {
            failure.set("crypto_shash_digest", error);
            [0; MAC]
        }))
    }

    /// Writes the MAC of a section into it.
    pub(crate) fn sign(&self, section: u32, failure: &Failure) {
        let Some(mac) = self.mac_of(section, failure) else {
            return;
        };
        for (at, part) in self.parts(section).zip(mac.chunks_exact(MAC_PART_BYTES)) {
            let _ = self.memory.write(at, part);
        }
    }

    /// Returns whether the MAC of a section is right, or there is none.
    pub(crate) fn verify(&self, section: u32, failure: &Failure) -> bool {
        let Some(mac) = self.mac_of(section, failure) else {
            return true;
        };
        let mut wrong = 0;
        for (at, part) in self.parts(section).zip(mac.chunks_exact(MAC_PART_BYTES)) {
            for (stored, byte) in self.memory.load(at).iter().zip(part) {
                // No branch depends on the bytes.
                wrong |= stored ^ byte;
            }
        }
        wrong == 0
    }

    /// The bytes of consecutive sections.
    fn bytes(&self, first: u32, count: u32) -> Range<usize> {
        let bytes = |section| self.sector_at(section, 0);
        bytes(first)..bytes(first.saturating_add(count))
    }
}

impl Journal for Area {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn sequence(&self, section: u32, sector: u32) -> Option<Sequence> {
        let at = self.sector_at(section, sector).saturating_add(COMMIT_ID);
        let id = u64::from_le_bytes(self.memory.load(at));
        self.ids.sequence(section, sector, id)
    }

    fn sector(&self, section: u32, entry: u32) -> Option<u64> {
        self.sector_of(Place { section, entry })
    }
}
