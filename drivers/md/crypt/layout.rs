// SPDX-License-Identifier: GPL-2.0

//! Which sectors go together, how they are numbered, and where their metadata is.
//!
//! With authenticated encryption or random IVs, the device below has a *tuple* of metadata for
//! each sector:
//!
//! ```text
//! | authentication tag | stored IV | zeros |
//! ```
//!
//! Sectors are of 512 bytes unless it says otherwise. Any context.

use core::{
    num::NonZeroU32,
    ops::Range, //
};

use dm::target::args::TableError;

use crate::options::SectorSize;

/// What the device below has for each of its sectors besides data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The metadata in bytes.
    pub metadata_size: u32,
    /// The data in bytes.
    pub interval: u32,
}

/// The metadata of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// The bytes of the authentication tag, at the start.
    pub tag_size: u32,
    /// The bytes of the stored IV, after it.
    pub iv_size: u32,
    /// The bytes of the tuple. What is after the IV is zero.
    pub size: u32,
}

impl Tuple {
    /// Divides a tuple where a table asks for `used` bytes, of which `iv_size` are the stored IV.
    ///
    /// `profile` is that of the device below, [`None`] if it has none or if that protects the
    /// data itself. `set_tag_size` tells the cipher how long the authentication tag is, and is
    /// called only if there is one; it returns whether the cipher can do that.
    ///
    /// # Errors
    ///
    /// Row C-30, in its order.
    pub fn new(
        profile: Option<Profile>,
        used: u32,
        iv_size: u32,
        sector_size: SectorSize,
        aead: bool,
        set_tag_size: impl FnOnce(u32) -> bool,
    ) -> Result<Self, TableError> {
        let error = |text| Err(TableError::invalid(text));
        let Some(profile) = profile else {
            return error(c"Integrity profile not supported.");
        };
        if profile.metadata_size < used {
            return error(c"Integrity profile tag size mismatch.");
        }
        if profile.interval != sector_size.bytes() {
            return error(c"Integrity profile sector size mismatch.");
        }
        let mut tag_size = 0;
        if aead {
            match used.checked_sub(iv_size) {
                Some(size) if set_tag_size(size) => tag_size = size,
                _ => return error(c"Integrity AEAD auth tag size is not supported."),
            }
        }
        let size = profile.metadata_size;
        if tag_size.checked_add(iv_size).is_none_or(|used| used > size) {
            return error(c"Not enough space for integrity tag in the profile.");
        }
        Ok(Self {
            tag_size,
            iv_size,
            size,
        })
    }

    /// Where the authentication tag is in a tuple, in bytes.
    pub fn tag(&self) -> Range<usize> {
        0..self.tag_size as usize
    }

    /// Where the stored IV is.
    pub fn iv(&self) -> Range<usize> {
        let start = self.tag_size as usize;
        start..start.saturating_add(self.iv_size as usize)
    }

    /// What has to be zeroed before a write.
    pub fn rest(&self) -> Range<usize> {
        self.iv().end..self.size as usize
    }

    /// The bytes of the tuples of so many sectors of 512 bytes, a multiple of the sector size.
    pub fn bytes(&self, sectors: u32, size: SectorSize) -> Option<u32> {
        self.size.checked_mul(sectors >> size.shift())
    }

    /// Where the tuple of the sector `index` of a bio is in the memory for all of them.
    pub fn at(&self, index: u32) -> Option<Range<usize>> {
        let size = usize::try_from(self.size).ok()?;
        let start = size.checked_mul(usize::try_from(index).ok()?)?;
        Some(start..start.checked_add(size)?)
    }

    /// The sectors of 512 bytes whose tuples fit in one entry of the pool for them.
    pub fn pool_sectors(&self, size: SectorSize) -> u32 {
        const ENTRY_SIZE: u32 = 512;

        let tuples = ENTRY_SIZE.checked_div(self.size).unwrap_or(0).max(1);
        tuples << size.shift()
    }
}

/// The bytes that are authenticated before the IV: the sector.
pub const AAD_SECTOR_SIZE: usize = 8;

/// Writes what is authenticated besides the data: `sector` is counted from the start of the
/// target in units of 512 bytes, whatever the table says about IVs.
///
/// `out` has the bytes of an IV and [`AAD_SECTOR_SIZE`].
pub fn write_aad(sector: u64, iv: &[u8], out: &mut [u8]) {
    let sector = sector.to_le_bytes();
    for (to, from) in out.iter_mut().zip(sector.iter().chain(iv)) {
        *to = *from;
    }
}

/// The sector that an IV is made of: `sector` is counted from the start of the target, `offset`
/// is that of the table.
#[inline]
pub const fn iv_sector(sector: u64, offset: u64, size: SectorSize, iv_large_sectors: bool) -> u64 {
    let sector = sector.wrapping_add(offset);
    if iv_large_sectors {
        sector >> size.shift()
    } else {
        sector
    }
}

/// The transform for a sector, of a number that is a power of two. Not by large sectors, even
/// where IVs are.
#[inline]
pub const fn key_index(sector: u64, offset: u64, transforms: u32) -> u32 {
    // No more than 32 bits remain.
    (sector.wrapping_add(offset) & (transforms as u64).wrapping_sub(1)) as u32
}

/// Whether a bio at `sector` with so many bytes has whole sectors only. Else it fails with `EIO`.
#[inline]
pub const fn is_aligned(sector: u64, bytes: u32, size: SectorSize) -> bool {
    size.divides(sector) && bytes & size.bytes().wrapping_sub(1) == 0
}

/// The most bytes of a bio unless the parameters of the module say otherwise.
pub const DEFAULT_MAX_SIZE: u32 = 131_072;

/// The most pages of a bio with pages of its own: `BIO_MAX_VECS`.
pub const MAX_PAGES: u32 = 256;

/// How bios are split: row C-60.
#[derive(Clone, Copy, Debug)]
pub struct Splitting {
    /// The sector size of the table.
    pub sector_size: SectorSize,
    /// The logical block size of the device below in bytes.
    pub logical_block_size: u32,
    /// The size of a page in bytes.
    pub page_size: u32,
    /// Whether the table asks for metadata.
    pub has_tag: bool,
}

impl Splitting {
    /// The most sectors of a bio. `limit` is the parameter of the module, in bytes.
    ///
    /// A bio that must not be split has no limit but that of its pages.
    pub fn max_sectors(&self, limit: Option<NonZeroU32>, write: bool, no_split: bool) -> u32 {
        let mut bytes = match (no_split, limit) {
            (true, _) => u32::MAX,
            (false, Some(limit)) => limit.get().min(DEFAULT_MAX_SIZE),
            (false, None) => DEFAULT_MAX_SIZE,
        };
        if write || self.has_tag {
            bytes = bytes.min(self.page_size.saturating_mul(MAX_PAGES));
        }
        // A power of two, as both are.
        let unit = self.logical_block_size.max(self.sector_size.bytes());
        let bytes = bytes & !unit.wrapping_sub(1);
        bytes.max(unit) >> 9
    }
}

/// The pages that one device may have for its writes, of `pages` in the machine: two hundredths,
/// shared by all `devices`, and at least as many as 16 bios have.
pub fn page_budget(pages: u64, devices: NonZeroU32) -> u64 {
    const MIN_PAGES: u64 = 16 * MAX_PAGES as u64;

    let share = (pages.saturating_mul(2) / 100).checked_div(u64::from(devices.get()));
    share.map_or(MIN_PAGES, |share| share.max(MIN_PAGES))
}
