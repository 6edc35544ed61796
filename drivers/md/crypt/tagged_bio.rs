// SPDX-License-Identifier: GPL-2.0

//! The ways of bios whose sectors have metadata.
//!
//! Both reads and writes get a copy. Waiting for memory is done on the queue `kcryptd_io`, and the
//! conversion on `kcryptd`, which waits for no memory: so what has memory always gets on and gives
//! it back.

use crate::{
    tagged::Tagged,
    target::Crypt,
    LOG, //
};
use dm::{
    bio::{
        BlockStatus,
        Decision,
        Handed,
        MapBio,
        Owned, //
    },
    context::MaySleep,
    crypto::skcipher::Direction,
    log::RateLimit,
    target::Target, //
};
use kernel::prelude::*;

impl Crypt {
    /// Takes a bio with memory for its metadata, or the part of it for which there is some.
    pub(crate) fn map_tagged<'a>(
        &self,
        ti: &Target,
        mut bio: MapBio<'a, Self>,
        tagged: &Tagged,
    ) -> Decision<'a> {
        let numbering = &self.converter.numbering;
        let Some(bytes) = tagged.bytes(numbering, bio.sectors()) else {
            return bio.kill();
        };
        let tags = tagged.pool.get(bytes).or_else(|| {
            bio.accept_partial(tagged.reserved_sectors(numbering));
            tagged.pool.get_reserved()
        });
        let Some(tags) = tags else { return bio.kill() };
        let mut bio = bio.take(());
        bio.set_tags(tags);
        match self.prepare(ti, &mut bio, tagged, None) {
            Ok(()) => self.send_tagged(ti, bio).into(),
            Err(_) => bio.queue(&self.io_queue).into(),
        }
    }

    /// Makes the copy of a bio, and attaches the metadata.
    fn prepare(
        &self,
        ti: &Target,
        bio: &mut Owned<'_, Self>,
        tagged: &Tagged,
        token: Option<MaySleep<'_>>,
    ) -> Result {
        let sectors = bio.bytes() >> 9;
        let bytes = tagged
            .bytes(&self.converter.numbering, sectors)
            .ok_or(EINVAL)?;
        let sector = self.below(ti.offset(bio.sector()));
        bio.make_copy(token)?;
        bio.attach_tags(&self.device, sector, bytes, token)
            .inspect_err(|_| bio.drop_copy())
    }

    /// Sends a prepared bio on: a read to the device, a write to be encrypted.
    fn send_tagged<'a>(&self, ti: &Target, bio: Owned<'a, Self>) -> Handed<'a> {
        match bio.is_write() {
            true => bio.queue(&self.queue),
            false => self.submit_copy(ti, bio),
        }
    }

    /// Goes on with a bio: one without a copy waits for that, another one is converted.
    pub(crate) fn work_on_tagged<'a>(
        &self,
        ti: &Target,
        mut bio: Owned<'a, Self>,
        tagged: &Tagged,
        token: MaySleep<'_>,
    ) -> Handed<'a> {
        if !bio.has_copy() {
            return match self.prepare(ti, &mut bio, tagged, Some(token)) {
                Ok(()) => self.send_tagged(ti, bio),
                Err(error) => bio.end(error.into()),
            };
        }
        let write = bio.is_write();
        match self.convert_tagged(ti, &mut bio, tagged, token) {
            Ok(()) if write => self.submit_copy(ti, bio),
            Ok(()) => bio.end(BlockStatus::OK),
            Err((sector, error)) => {
                let status = self.report(&bio, sector, error, token);
                bio.end(status)
            }
        }
    }

    fn convert_tagged(
        &self,
        ti: &Target,
        bio: &mut Owned<'_, Self>,
        tagged: &Tagged,
        token: MaySleep<'_>,
    ) -> core::result::Result<(), (u64, Error)> {
        let sector = ti.offset(bio.sector());
        let _keys = self.converter.keys.read(token);
        let with = (&self.converter.ciphers, &self.converter.numbering);
        let write = bio.is_write();
        let (own, copy, tags) = bio.parts();
        let (direction, data) = match write {
            true => (Direction::Encrypt, (own, copy)),
            false => (Direction::Decrypt, (copy, own)),
        };
        tagged.convert(with, direction, data, sector, tags, token)
    }

    /// Says in the log which sector has a wrong tag, and returns what the submitter gets.
    #[cold]
    fn report(
        &self,
        bio: &Owned<'_, Self>,
        sector: u64,
        error: Error,
        token: MaySleep<'_>,
    ) -> BlockStatus {
        static LIMIT: RateLimit = RateLimit::new();

        if error != EBADMSG {
            return BlockStatus::IO_ERROR;
        }
        self.device.with_disk_name(|name| {
            let name = name.to_str().unwrap_or_default();
            LOG.error_limited(
                &LIMIT,
                format_args!("{name}: INTEGRITY AEAD ERROR, sector {sector}"),
            );
        });
        bio.audit(c"crypt", c"integrity-aead", sector, false, token);
        EILSEQ.into()
    }
}
