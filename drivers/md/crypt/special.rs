// SPDX-License-Identifier: GPL-2.0

//! Modes that change data beside the cipher, or that need the cipher for the vector: those of
//! Loop-AES, TrueCrypt and BitLocker.
//!
//! They are for volumes of long ago, so each sector is simply copied to memory of ours and back:
//! the memory of a bio may change as it is looked at.

use crate::{
    convert::{
        Converter,
        Numbers, //
    },
    iv::{
        self,
        eboiv_block,
        Generator,
        Secret, //
    },
    iv_elephant,
    iv_lmk,
    iv_tcw,
    key::{
        LMK_SEED_SIZE,
        TCW_WHITENING_SIZE, //
    },
    options::SectorSize, //
};
use dm::{
    alloc,
    bio::Cursor,
    crypto::{
        aes::Aes,
        crc32::crc32_le,
        md5::Md5,
        skcipher::{
            Cipher,
            Direction,
            Request, //
        },
    },
    secret, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::Mutex, //
};

/// The longest vector of these modes.
const MAX_IV: usize = 16;

/// The most bytes of the key that these modes use.
const MAX_PART: usize = MAX_IV + TCW_WHITENING_SIZE;

/// The part of the key that a mode uses, which is overwritten when it is dropped.
#[derive(Clone)]
struct Part {
    bytes: [u8; MAX_PART],
    len: usize,
}

impl Part {
    const NONE: Self = Self {
        bytes: [0; MAX_PART],
        len: 0,
    };

    fn get(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    fn set(&mut self, parts: [&[u8]; 2]) {
        secret::wipe(&mut self.bytes);
        self.len = 0;
        let bytes = parts.into_iter().flatten();
        for (to, from) in self.bytes.iter_mut().zip(bytes) {
            *to = *from;
            self.len = self.len.wrapping_add(1);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        secret::wipe(&mut self.bytes);
    }
}

/// A mode and the part of the key that it uses.
pub(crate) struct Special {
    generator: Generator,
    iv_size: usize,
    part: Pin<KBox<Mutex<Part>>>,
}

impl Special {
    /// Makes a mode without a key.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or `EOPNOTSUPP` if the vectors are longer than those of the modes' formats.
    pub(crate) fn new(generator: Generator, iv_size: u32) -> Result<Self> {
        let iv_size = iv_size as usize;
        if iv_size > MAX_IV {
            return Err(EOPNOTSUPP);
        }
        Ok(Self {
            generator,
            iv_size,
            part: alloc::pin_boxed(new_mutex!(Part::NONE), GFP_KERNEL)?,
        })
    }

    pub(crate) fn generator(&self) -> Generator {
        self.generator
    }

    /// Copies a part of the key.
    pub(crate) fn set_secret(&self, secret: Secret<'_>) {
        self.part.lock().set(match secret {
            Secret::None => [&[], &[]],
            Secret::Lmk(seed) => [seed, &[]],
            Secret::Tcw { seed, whitening } => [seed, whitening],
            Secret::Elephant(key) => [key, &[]],
        });
    }

    /// Overwrites the part of the key with zeroes.
    pub(crate) fn wipe(&self) {
        let mut part = self.part.lock();
        secret::wipe(&mut part.bytes);
    }

    /// Converts sectors through `buffer`, which has the size of one; `vector` is for a vector.
    pub(crate) fn convert(
        &self,
        converter: &Converter,
        request: &mut Request<'_>,
        (buffer, vector): (&mut [u8], &mut [u8]),
        direction: Direction,
        (mut src, mut dst): (Cursor<'_>, Cursor<'_>),
        sector: u64,
    ) -> Result {
        let part = self.part.lock().clone();
        let mut numbers: Numbers = converter.numbering.from(sector);
        let size = converter.numbering.sector_size;
        while let (Some(from), Some(to)) = (src.segment(), dst.segment()) {
            if from.len().min(to.len()) < buffer.len() {
                return Err(EIO);
            }
            from.copy_to(buffer);
            let (sector, number) = numbers.next();
            let mut one = Sector {
                generator: self.generator,
                iv_size: self.iv_size,
                part: part.get(),
                number,
                size,
                first: converter.ciphers.first().ok_or(EIO)?,
                cipher: converter.ciphers.of(sector).ok_or(EIO)?,
                request,
                vector,
            };
            one.convert(direction, buffer)?;
            to.copy_from(buffer);
            src.advance(size.bytes());
            dst.advance(size.bytes());
        }
        Ok(())
    }
}

/// A sector that is being converted.
struct Sector<'a, 'r> {
    generator: Generator,
    iv_size: usize,
    part: &'a [u8],
    number: u64,
    size: SectorSize,
    first: &'a Cipher,
    cipher: &'a Cipher,
    request: &'a mut Request<'r>,
    vector: &'a mut [u8],
}

impl Sector<'_, '_> {
    fn convert(&mut self, direction: Direction, data: &mut [u8]) -> Result {
        match direction {
            Direction::Encrypt => self.encrypt(data),
            Direction::Decrypt => self.decrypt(data),
        }
    }

    fn encrypt(&mut self, data: &mut [u8]) -> Result {
        if self.generator == Generator::Elephant {
            iv_elephant::encrypt(data, &self.elephant_key()?);
        }
        let iv = match self.generator {
            Generator::Lmk { .. } => self.lmk(data)?,
            _ => self.iv()?,
        };
        self.cipher(Direction::Encrypt, data, iv)?;
        if self.generator == Generator::Tcw {
            iv_tcw::whiten(data, &self.whitening()?);
        }
        Ok(())
    }

    fn decrypt(&mut self, data: &mut [u8]) -> Result {
        if self.generator == Generator::Tcw {
            iv_tcw::whiten(data, &self.whitening()?);
        }
        let iv = self.iv()?;
        self.cipher(Direction::Decrypt, data, iv)?;
        match self.generator {
            Generator::Lmk { .. } => {
                let iv = self.lmk(data)?;
                for (byte, iv) in data.iter_mut().zip(iv.iter().take(self.iv_size)) {
                    *byte ^= iv;
                }
            }
            Generator::Elephant => iv_elephant::decrypt(data, &self.elephant_key()?),
            _ => (),
        }
        Ok(())
    }

    fn cipher(&mut self, direction: Direction, data: &mut [u8], mut iv: [u8; MAX_IV]) -> Result {
        // The buffer of a vector is never shorter than a number, but what the cipher takes may be.
        let iv = iv.get_mut(..self.cipher.iv_size()).ok_or(EIO)?;
        self.request.in_place(self.cipher, direction, data, iv)
    }

    /// Returns the vector, if it does not depend on the data.
    fn iv(&mut self) -> Result<[u8; MAX_IV]> {
        let mut iv = [0; MAX_IV];
        let place = iv.get_mut(..self.iv_size).ok_or(EIO)?;
        match self.generator {
            Generator::Counter(counter) => counter.write(self.number, place),
            Generator::Lmk { .. } => (),
            Generator::Tcw => {
                let seed = self.part.get(..self.iv_size).ok_or(EIO)?;
                iv_tcw::iv(seed, self.number, place);
            }
            Generator::Eboiv | Generator::Elephant => self.encrypted_offset(place)?,
            Generator::Random => return Err(EIO),
        }
        Ok(iv)
    }

    /// Writes the vector of BitLocker: the offset in bytes, encrypted.
    fn encrypted_offset(&mut self, place: &mut [u8]) -> Result {
        let mut offset = [0; MAX_IV];
        let offset = offset.get_mut(..self.iv_size).ok_or(EIO)?;
        eboiv_block(self.number, self.size, offset);
        let vector = self.vector.get_mut(..self.iv_size).ok_or(EIO)?;
        vector.fill(0);
        self.request
            .in_place(self.first, Direction::Encrypt, vector, offset)?;
        place.copy_from_slice(vector);
        Ok(())
    }

    /// Returns the vector of Loop-AES, made of plain text.
    fn lmk(&self, data: &[u8]) -> Result<[u8; MAX_IV]> {
        let seed: Option<&[u8; LMK_SEED_SIZE]> = match self.generator {
            Generator::Lmk { seeded: true } => Some(self.part.first_chunk().ok_or(EIO)?),
            _ => None,
        };
        Ok(iv_lmk::iv(seed, self.number, data, Hash(Md5::new())))
    }

    /// Returns what TrueCrypt hides the cipher text with.
    fn whitening(&self) -> Result<[u8; 8]> {
        let secret = self.part.get(self.iv_size..).ok_or(EIO)?;
        let secret = secret.first_chunk().ok_or(EIO)?;
        Ok(iv_tcw::whitening(secret, self.number, |word| {
            crc32_le(0, word)
        }))
    }

    fn elephant_key(&self) -> Result<[u8; iv_elephant::SECTOR_KEY_SIZE]> {
        Aes::with(self.part, |aes| {
            iv_elephant::sector_key(self.number, self.size, |block| aes.encrypt(block))
        })
    }
}

/// The hash of Loop-AES.
struct Hash(Md5);

impl iv_lmk::Md5<&[u8]> for Hash {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn update_data(&mut self, data: &[u8]) {
        self.0
            .update(data.get(iv_lmk::SKIPPED..).unwrap_or_default());
    }

    fn state(self) -> [u32; 4] {
        self.0.state()
    }
}

/// What the parser wants for the vectors of a device.
pub(crate) enum State {
    /// Nothing.
    None,
    /// A mode of this file.
    Special(Special),
}

impl State {
    pub(crate) fn new(generator: Generator, iv_size: u32) -> Result<Self> {
        match generator {
            Generator::Counter(_) | Generator::Random => Ok(Self::None),
            _ => Ok(Self::Special(Special::new(generator, iv_size)?)),
        }
    }

    pub(crate) fn set_secret(&self, secret: iv::Secret<'_>) {
        if let Self::Special(special) = self {
            special.set_secret(secret);
        }
    }
}
