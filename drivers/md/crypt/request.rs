// SPDX-License-Identifier: GPL-2.0

//! The ways of requests, for a device of the name `crypt-rq`.
//!
//! They are those of bios: a read goes to the device and is decrypted where it is, a write goes
//! there as a copy. But what neighbouring bios have in common is done once: a request of the device
//! below, the memory of the copy, and the thread that converts.

use crate::{
    layout::MAX_PAGES,
    target::{
        Crypt,
        Failure, //
    },
    way::Way,
    LOG, //
};
use dm::{
    bio::{
        BlockStatus,
        Decision,
        Handed,
        Op, //
    },
    context::MaySleep,
    crypto::skcipher::Direction,
    request::{
        MapRequest,
        OwnedRequest,
        Requests, //
    },
    target::{
        args::TableError,
        device::Device,
        limits::Limits,
        with_text,
        Target, //
    },
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

/// Checks what cannot be had with requests. The core itself refuses a device that takes none.
pub(crate) fn check(
    ti: &Target,
    device: &Device,
    has_metadata: bool,
    zoned: bool,
) -> Result<(), TableError> {
    if !ti.takes_requests() {
        return Ok(());
    }
    let name = ti.type_name().to_str().unwrap_or_default();
    if has_metadata || zoned {
        LOG.error(format_args!(
            "{name} has neither metadata of sectors nor zones: use crypt or rcrypt"
        ));
        return Err(with_text(c"Invalid feature arguments")(EOPNOTSUPP));
    }
    if !device.takes_requests() {
        device.with_disk_name(|below| {
            LOG.error(format_args!(
                "{name} cannot be over {}, which takes no requests as a whole: \
                 use crypt or rcrypt",
                below.to_str().unwrap_or_default()
            ));
        });
    }
    Ok(())
}

/// How far a request is.
#[derive(Default)]
pub(crate) struct Progress {
    /// The bios of a read that need no decryption any more.
    decrypted: usize,
    /// Whether the copy of a write is complete.
    encrypted: bool,
}

impl Crypt {
    /// Limits requests to what is converted, and copied, at a time.
    pub(crate) fn limit_requests(&self, limits: &mut Limits) {
        let sectors = [false, true].map(|write| self.max_sectors(write, false));
        let sectors = sectors.into_iter().min().unwrap_or(MAX_PAGES);
        limits.cap_copies();
        limits.cap_bytes(sectors.saturating_mul(512).max(PAGE_SIZE as u32));
    }

    /// Returns the sector on the device of a request.
    fn below_of(&self, ti: &Target, request: &OwnedRequest<'_, Self>) -> u64 {
        self.below(ti.offset(request.sector()))
    }

    /// Decrypts the bios of a read where they are, and ends them. One that fails leaves the others
    /// alone.
    fn decrypt_request<'a>(
        &self,
        ti: &Target,
        mut request: OwnedRequest<'a, Self>,
        token: Option<MaySleep<'_>>,
    ) -> Handed<'a> {
        let mut done = request.data().decrypted;
        let mut later = false;
        for mut part in request.parts().skip(done) {
            if !part.status().is_ok() {
                done = done.saturating_add(1);
                continue;
            }
            let data = (part.cursor(), part.cursor());
            let sector = ti.offset(part.sector());
            let result = self
                .converter
                .convert(Direction::Decrypt, data, sector, token);
            match result {
                // A thread can wait for the new key.
                Err(error) if error == EAGAIN && token.is_none() => {
                    later = true;
                    break;
                }
                Err(_) => part.fail(BlockStatus::IO_ERROR),
                Ok(()) => (),
            }
            done = done.saturating_add(1);
        }
        request.data_mut().decrypted = done;
        match later {
            true => request.queue(&self.queue),
            false => request.end(BlockStatus::OK),
        }
    }

    /// Encrypts the bios of a write into a copy.
    fn encrypt_request(
        &self,
        ti: &Target,
        request: &mut OwnedRequest<'_, Self>,
        token: Option<MaySleep<'_>>,
    ) -> Result<(), Failure> {
        if !request.has_copy() {
            request.make_copy(token).map_err(|_| Failure::Later)?;
        }
        for part in request.parts() {
            let data = (part.cursor(), part.copy_cursor());
            let sector = ti.offset(part.sector());
            self.converter
                .convert(Direction::Encrypt, data, sector, token)
                .map_err(|error| match error == EAGAIN && token.is_none() {
                    true => Failure::Later,
                    false => Failure::Cipher,
                })?;
        }
        request.data_mut().encrypted = true;
        Ok(())
    }

    /// Encrypts a write at once if that is better than to have a thread do it.
    fn map_write_request<'a>(
        &self,
        ti: &Target,
        mut request: OwnedRequest<'a, Self>,
    ) -> Handed<'a> {
        if !self.encrypts_here(request.bytes()) {
            return request.queue(&self.queue);
        }
        match self.encrypt_request(ti, &mut request, None) {
            Ok(()) => {
                let sector = self.below_of(ti, &request);
                request
                    .submit(sector)
                    .unwrap_or_else(|request| request.queue(&self.queue))
            }
            Err(Failure::Later) => request.queue(&self.queue),
            Err(Failure::Cipher) => request.end(BlockStatus::IO_ERROR),
        }
    }

    /// Encrypts a write in a thread unless that has been done, and sends it on.
    fn work_on_write_request<'a>(
        &self,
        ti: &Target,
        mut request: OwnedRequest<'a, Self>,
        token: MaySleep<'_>,
    ) -> Handed<'a> {
        if !request.data().encrypted && self.encrypt_request(ti, &mut request, Some(token)).is_err()
        {
            return request.end(BlockStatus::IO_ERROR);
        }
        let sector = self.below_of(ti, &request);
        request.submit_waiting(sector, token)
    }
}

impl Requests for Crypt {
    type PerRequest = Progress;

    fn map_request<'a>(&self, ti: &Target, request: MapRequest<'a, Self>) -> Decision<'a> {
        if request.is_flush() {
            return request.remap(&self.device);
        }
        let op = request.op();
        let request = match request.take(&self.device, Progress::default()) {
            Ok(request) => request,
            Err(decision) => return decision,
        };
        if op == Op::Write {
            return self.map_write_request(ti, request).into();
        }
        let sector = self.below_of(ti, &request);
        match request.submit(sector) {
            Ok(handed) => handed.into(),
            Err(request) => request.requeue(),
        }
    }

    fn complete_request<'a>(&self, ti: &Target, request: OwnedRequest<'a, Self>) -> Handed<'a> {
        if request.op() != Op::Read {
            return request.end(BlockStatus::OK);
        }
        match self.way_of_read(request.bytes()) {
            Way::Here => self.decrypt_request(ti, request, None),
            Way::SoftIrq => request.queue_in_softirq(),
            Way::Together => request.queue(&self.io_queue),
            Way::Thread => request.queue(&self.queue),
        }
    }

    fn work_on_request<'a>(
        &self,
        ti: &Target,
        request: OwnedRequest<'a, Self>,
        token: Option<MaySleep<'_>>,
    ) -> Handed<'a> {
        let sent = request.data().encrypted;
        if let (Some(window), Some(token), false) = (&self.window, token, sent) {
            return self.take_off_request(ti, request, window, token);
        }
        match (request.op(), token) {
            (Op::Write, Some(token)) => self.work_on_write_request(ti, request, token),
            _ => self.decrypt_request(ti, request, token),
        }
    }

    fn parts_done<'a>(&self, _ti: &Target, mut request: OwnedRequest<'a, Self>) -> Handed<'a> {
        if request.op() != Op::Write {
            return request.end(BlockStatus::OK);
        }
        if request.parts().any(|part| !part.status().is_ok()) {
            return request.end(BlockStatus::IO_ERROR);
        }
        request.data_mut().encrypted = true;
        request.queue(&self.io_queue)
    }
}
