// SPDX-License-Identifier: GPL-2.0

//! The journal on the device, where that is not the journal in memory: where it is encrypted.
//!
//! With a cipher that takes any number of bytes, a *stream* is made once, as long as the journal
//! in whole pages, and the journal is combined with it; the numbers of the commit ids are what the
//! cipher makes of those of a plain journal after it. With any other cipher each section is
//! encrypted as one, with a vector made of its number, and the numbers of the commit ids are the
//! plain ones.
//!
//! C source: `create_journal()`, `xor_journal()`, `crypt_journal()` in `drivers/md/dm-integrity.c`

use crate::{
    commit::{
        CommitIds,
        SEQUENCES, //
    },
    failure::Failure,
    journal::{
        Geometry,
        SECTOR, //
    },
    options::Algorithm,
};
use core::ops::Range;
use dm::{
    alloc,
    context::MaySleep,
    crypto::skcipher::{
        Bulk,
        Cipher,
        Direction,
        MAX_IV_SIZE, //
    },
    memory::Shared,
    secret::Secret,
    target::{
        args::TableError,
        with_text, //
    },
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::Mutex, //
};

/// What an error of a cipher is called in the log.
pub(crate) const ENCRYPT: &str = "encrypt";

/// The longest block of a cipher that is supported.
const MAX_BLOCK: usize = 64;

/// How the journal is encrypted.
enum How {
    Stream(Shared),
    Sections(Pin<KBox<Mutex<Sections>>>),
}

struct Sections {
    bulk: Bulk,
    /// Room to make a vector.
    vector: KVec<u8>,
}

/// An encrypted journal.
pub(crate) struct Encrypted {
    /// The journal as it is on the device.
    memory: Shared,
    how: How,
}

impl Encrypted {
    /// Sets a cipher up for a journal that is `plain` in memory. May sleep.
    ///
    /// Returns the numbers of its commit ids as well.
    pub(crate) fn new(
        algorithm: &Algorithm<Secret>,
        geometry: &Geometry,
        plain: &Shared,
        failure: &Failure,
        token: MaySleep<'_>,
    ) -> Result<(Self, CommitIds), TableError> {
        let cipher =
            Cipher::new(algorithm.name(), token).map_err(with_text(c"Invalid journal cipher"))?;
        if let Some(key) = algorithm.key() {
            cipher
                .set_key(key, token)
                .map_err(with_text(c"Error setting encryption key"))?;
        }
        let memory = Shared::new(plain.len(), token)
            .map_err(with_text(c"Could not allocate memory for journal io"))?;
        let (how, ids) = match cipher.block_size() {
            1 => stream(cipher, plain.len(), failure, token)?,
            block => sections(cipher, block, geometry, failure, token)?,
        };
        Ok((Self { memory, how }, ids))
    }

    /// Returns the journal as it is on the device.
    pub(crate) fn memory(&self) -> &Shared {
        &self.memory
    }

    /// Encrypts the bytes of a section. May sleep.
    pub(crate) fn encrypt(
        &self,
        plain: &Shared,
        section: u32,
        bytes: Range<usize>,
        token: MaySleep<'_>,
    ) -> Result {
        let (from, to) = (plain, &self.memory);
        self.convert(Direction::Encrypt, from, to, section, bytes, token)
    }

    /// Decrypts the bytes of a section. May sleep.
    pub(crate) fn decrypt(
        &self,
        plain: &Shared,
        section: u32,
        bytes: Range<usize>,
        token: MaySleep<'_>,
    ) -> Result {
        let (from, to) = (&self.memory, plain);
        self.convert(Direction::Decrypt, from, to, section, bytes, token)
    }

    fn convert(
        &self,
        direction: Direction,
        from: &Shared,
        to: &Shared,
        section: u32,
        bytes: Range<usize>,
        token: MaySleep<'_>,
    ) -> Result {
        let part = (bytes.start, bytes.len());
        match &self.how {
            How::Stream(stream) => match to.xor(part.0, part.1, from, stream) {
                true => Ok(()),
                false => Err(EINVAL),
            },
            How::Sections(sections) => {
                let mut sections = sections.lock();
                sections.make_vector(section, token)?;
                let Sections { bulk, vector } = &mut *sections;
                let iv = vector.get(..bulk.cipher().iv_size()).ok_or(EINVAL)?;
                bulk.run(direction, part, from, to, iv, token)
            }
        }
    }
}

impl Drop for Encrypted {
    fn drop(&mut self) {
        if let How::Stream(stream) = &self.how {
            // It is as good as the key.
            let _ = stream.fill(0, stream.len(), 0);
        }
    }
}

/// Logs an error of a cipher as C does.
fn failed<'a>(failure: &'a Failure, text: &'static CStr) -> impl Fn(Error) -> TableError + 'a {
    move |error| {
        failure.set(ENCRYPT, error);
        with_text(text)(error)
    }
}

/// Makes the stream for a journal of `bytes` bytes.
fn stream(
    cipher: Cipher,
    bytes: usize,
    failure: &Failure,
    token: MaySleep<'_>,
) -> Result<(How, CommitIds), TableError> {
    let no_stream = with_text(c"Could not allocate memory for journal xor");
    let plain_ids = CommitIds::PLAIN.to_bytes();
    let length = bytes.saturating_add(plain_ids.len());
    let stream = Shared::new(length, token).map_err(no_stream)?;
    let mut bulk =
        Bulk::new(cipher, length, token).map_err(with_text(c"Unable to allocate sg list"))?;
    let mut ids = [0; SEQUENCES * 8];
    let there = stream.write(bytes, &plain_ids);
    bulk.run(
        Direction::Encrypt,
        (0, length),
        &stream,
        &stream,
        &[0; MAX_IV_SIZE],
        token,
    )
    .map_err(failed(failure, c"Unable to encrypt journal"))?;
    match there && stream.read(bytes, &mut ids) {
        true => Ok((How::Stream(stream), CommitIds::from_bytes(&ids))),
        false => Err(TableError::invalid(c"Unable to encrypt journal")),
    }
}

/// Sets up the encryption of sections.
fn sections(
    cipher: Cipher,
    block: usize,
    geometry: &Geometry,
    failure: &Failure,
    token: MaySleep<'_>,
) -> Result<(How, CommitIds), TableError> {
    if block > MAX_BLOCK {
        return Err(TableError::invalid(c"Unable to generate iv"));
    }
    let longest = usize::from(geometry.section_sectors()).saturating_mul(SECTOR);
    // At least a block, so that a cipher without a vector is tried as well.
    let bytes = cipher.iv_size().max(1).next_multiple_of(block);
    let bulk = Bulk::new(cipher, longest, token)
        .map_err(with_text(c"Could not allocate crypt request"))?;
    let vector = alloc::bytes(
        [0; MAX_IV_SIZE + MAX_BLOCK].get(..bytes).unwrap_or(&[]),
        GFP_KERNEL,
    )
    .map_err(with_text(c"Unable to allocate crypt data"))?;
    let mut sections = Sections { bulk, vector };
    sections
        .make_vector(0, token)
        .map_err(failed(failure, c"Unable to generate iv"))?;
    let sections = alloc::pin_boxed(new_mutex!(sections), GFP_KERNEL)
        .map_err(with_text(c"Unable to allocate sk requests"))?;
    Ok((How::Sections(sections), CommitIds::PLAIN))
}

impl Sections {
    /// Makes the vector of a section: its number, encrypted with a vector of zeroes.
    fn make_vector(&mut self, section: u32, token: MaySleep<'_>) -> Result {
        let mut zeroes = [0; MAX_IV_SIZE];
        let size = self.bulk.cipher().iv_size();
        let zeroes = zeroes.get_mut(..size).ok_or(EINVAL)?;
        self.vector.fill(0);
        for (to, byte) in self.vector.iter_mut().zip(section.to_le_bytes()) {
            *to = byte;
        }
        self.bulk
            .in_place(Direction::Encrypt, &mut self.vector, zeroes, token)
    }
}
