// SPDX-License-Identifier: GPL-2.0

//! Reading and writing the superblock, and its MAC.

use crate::{
    failure::Failure,
    superblock::{
        self,
        Content,
        Superblock,
        AREA, //
    },
    table::Mode, //
};
use dm::{
    alloc,
    context::MaySleep,
    crypto::shash::{
        Hash,
        MAX_DIGEST_SIZE, //
    },
    io::{
        self,
        Write, //
    },
    target::device::Device, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    },
};

/// Where the superblock is.
pub(crate) struct SuperblockFile {
    device: Device,
    sector: u64,
    mode: Mode,
    meta_device: bool,
    mac: Option<Arc<Hash>>,
    /// The area of the superblock; what has no name in it stays as it was read.
    area: Pin<KBox<Mutex<KVec<u8>>>>,
}

impl SuperblockFile {
    /// May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        device: Device,
        sector: u64,
        mode: Mode,
        meta_device: bool,
        mac: Option<Arc<Hash>>,
    ) -> Result<Self> {
        let mut area = alloc::with_capacity(AREA, GFP_KERNEL)?;
        area.extend_with(AREA, 0, GFP_KERNEL)?;
        Ok(Self {
            device,
            sector,
            mode,
            meta_device,
            mac,
            area: alloc::pin_boxed(new_mutex!(area), GFP_KERNEL)?,
        })
    }

    /// Reads the area, verifies the MAC if there is to be one, and hands the area to `f`. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// That of the device, `EILSEQ` if the MAC is wrong, `EINVAL` if it cannot be.
    pub(crate) fn read<R>(
        &self,
        io: &io::Client,
        failure: &Failure,
        token: MaySleep<'_>,
        f: impl FnOnce(&[u8]) -> R,
    ) -> Result<R> {
        let mut area = self.area.lock();
        io.read(&self.device, self.sector, &mut area, token)?;
        if let Content::Superblock(superblock) = Content::of(&area) {
            if self.mode != Mode::Recovery {
                self.verify(&superblock, &area, failure)?;
            }
        }
        Ok(f(&area))
    }

    /// Writes a superblock, with the version and the MAC that go with it. May sleep.
    ///
    /// # Errors
    ///
    /// That of the device, or of the MAC.
    pub(crate) fn write(
        &self,
        io: &io::Client,
        mut superblock: Superblock,
        how: Write,
        failure: &Failure,
        token: MaySleep<'_>,
    ) -> Result {
        let mut area = self.area.lock();
        superblock.version = superblock.version_to_write(self.mode, self.meta_device);
        superblock.write_to(&mut area);
        if let Some(mac) = self.mac(&superblock) {
            let mut digest = [0; MAX_DIGEST_SIZE];
            let place = compute(mac, &area, &mut digest, failure)?;
            for (to, from) in area.iter_mut().skip(place).zip(digest.iter()) {
                *to = *from;
            }
        }
        io.write(&self.device, self.sector, &area, how, token)
    }

    fn mac(&self, superblock: &Superblock) -> Option<&Hash> {
        let mac = self.mac.as_deref()?;
        superblock.has_fixed_hmac().then_some(mac)
    }

    fn verify(&self, superblock: &Superblock, area: &[u8], failure: &Failure) -> Result {
        let Some(mac) = self.mac(superblock) else {
            return Ok(());
        };
        let mut digest = [0; MAX_DIGEST_SIZE];
        let place = compute(mac, area, &mut digest, failure)?;
        let mut wrong = 0;
        let stored = area.iter().skip(place).take(mac.digest_size());
        for (stored, byte) in stored.zip(digest) {
            // No branch depends on the bytes.
            wrong |= stored ^ byte;
        }
        if wrong != 0 {
            failure.set("superblock mac", EILSEQ);
            return Err(EILSEQ);
        }
        Ok(())
    }
}

/// Computes the MAC of an area; returns where its place is.
fn compute(
    mac: &Hash,
    area: &[u8],
    digest: &mut [u8; MAX_DIGEST_SIZE],
    failure: &Failure,
) -> Result<usize> {
    let Some(place) = superblock::mac_range(mac.digest_size()) else {
        failure.set("digest is too long", EINVAL);
        return Err(EINVAL);
    };
    let covered = area.get(..place.start).ok_or(EINVAL)?;
    mac.digest(&[covered.into()], digest)
        .inspect_err(|&error| failure.set("crypto_shash_digest", error))?;
    Ok(place.start)
}
