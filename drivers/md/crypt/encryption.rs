// SPDX-License-Identifier: GPL-2.0

//! From the words about cipher and key to a cipher that has its keys, and to its IVs.

use core::ffi::CStr;

use dm::{
    errno::{
        Errno,
        EINVAL, //
    },
    target::args::TableError,
};

use crate::{
    cipher::{
        self,
        Spec, //
    },
    iv::{
        self,
        Attributes,
        Generator,
        Mode, //
    },
    key::{
        self,
        KeyLayout,
        Secret,
        Source, //
    },
    options::{
        Options,
        SectorSize, //
    },
    table::{
        copy,
        copy_bytes,
        Environment,
        Iv,
        Key,
        NO_TEXT, //
    },
};

/// The cipher with its key, and what makes IVs for it.
pub(crate) struct Encryption<E: Environment> {
    pub(crate) cipher_string: E::Bytes,
    pub(crate) cipher: E::Cipher,
    pub(crate) key: Key<E>,
    pub(crate) iv_size: u32,
    pub(crate) iv: Option<Iv<E>>,
}

impl<E: Environment> Encryption<E> {
    /// Gets all of it, in the order of C.
    pub(crate) fn new(
        word: &CStr,
        key: key::Word<'_>,
        bytes: E::Secret,
        options: &Options<'_>,
        env: &mut E,
    ) -> Result<Self, TableError> {
        let cipher_string = copy(env, word.to_bytes(), c"Cannot allocate cipher strings")?;
        let spec = Spec::parse(word.to_bytes(), options.aead)?;
        let mut layout = KeyLayout::new(
            key.size(),
            spec.keys,
            options.mac_key_size.unwrap_or(0),
            options.aead,
        );
        let authenc = prepare_mac(&spec, &mut layout, options, env)?;
        let cipher = env
            .open_cipher(spec.api_name()?.as_cstr(), spec.keys, options.aead)
            .map_err(cipher::no_cipher)?;
        let mut encryption = Self {
            cipher_string,
            iv_size: env.iv_size(&cipher),
            cipher,
            key: Key {
                bytes,
                reference: None,
                layout,
                authenc,
            },
            iv: None,
        };
        let mode = encryption.mode(spec.iv, env)?;
        encryption.key.set(key, &mut encryption.cipher, env)?;
        if let Some(mode) = mode {
            encryption.create_iv(mode, options.sector_size, env)?;
        }
        encryption.key.forget_copy();
        Ok(encryption)
    }

    /// Finds the IV mode, and takes from the key what it needs.
    fn mode(&mut self, word: Option<&[u8]>, env: &mut E) -> Result<Option<Mode>, TableError> {
        if self.iv_size == 0 {
            if word.is_some() {
                env.log_warning(c"Selected cipher does not support IVs");
            }
            return Ok(None);
        }
        self.iv_size = self.iv_size.max(iv::MIN_SIZE);
        let Some(word) = word else {
            return Ok(None);
        };
        let mode = Mode::from_word(word).ok_or(TableError::invalid(c"Invalid IV mode"))?;
        self.key
            .layout
            .reserve(mode, self.iv_size)
            .map_err(|errno| TableError::new(NO_TEXT, errno))?;
        Ok(Some(mode))
    }

    fn create_iv(
        &mut self,
        mode: Mode,
        sector_size: SectorSize,
        env: &mut E,
    ) -> Result<(), TableError> {
        let error = |errno| TableError::new(c"Error creating IV", errno);
        let layout = &self.key.layout;
        let attributes = Attributes {
            aead: layout.aead,
            block_size: env.block_size(&self.cipher),
            iv_size: self.iv_size,
            sector_size,
            fips: env.fips(),
        };
        let generator = Generator::new(mode, &attributes, layout).map_err(|text| {
            env.log_error(text);
            error(EINVAL)
        })?;
        let mut state = env
            .create_iv(&self.cipher, generator, self.iv_size)
            .map_err(error)?;
        generator
            .secret(layout, &self.key.bytes, self.iv_size)
            .and_then(|secret| env.set_iv_secret(&mut state, secret))
            .map_err(|errno| TableError::new(c"Error initialising IV", errno))?;
        self.iv = Some(Iv { generator, state });
        Ok(())
    }
}

impl<E: Environment> Key<E> {
    /// Reads the key and gives it to the cipher.
    fn set(
        &mut self,
        word: key::Word<'_>,
        cipher: &mut E::Cipher,
        env: &mut E,
    ) -> Result<(), TableError> {
        self.read(word, env)
            .and_then(|()| {
                self.layout
                    .install(&self.bytes, self.authenc.as_mut(), |transform, key| {
                        env.set_key(cipher, transform, key)
                    })
            })
            .map_err(|errno| TableError::new(c"Error decoding and setting key", errno))
    }

    fn read(&mut self, word: key::Word<'_>, env: &mut E) -> Result<(), Errno> {
        let source = word.source(env.key_types()).map_err(|malformed| {
            if let Some(text) = malformed.text() {
                env.log_error(text);
            }
            EINVAL
        })?;
        match source {
            Source::None => Ok(()),
            Source::Hex(hex) => hex.decode(&mut self.bytes),
            Source::Keyring(reference) => {
                let name = copy_bytes(env, reference.name.to_bytes())?;
                env.read_key(&reference, &mut self.bytes)?;
                self.reference = Some(name);
                Ok(())
            }
        }
    }

    /// Wipes a key that is in a keyring, now that the cipher has it.
    fn forget_copy(&mut self) {
        if self.reference.is_some() {
            self.bytes.wipe();
        }
    }
}

/// Finds the size of the key of the message authentication code of an `authenc()`, and gets
/// memory to put both keys together.
fn prepare_mac<E: Environment>(
    spec: &Spec<'_>,
    layout: &mut KeyLayout,
    options: &Options<'_>,
    env: &mut E,
) -> Result<Option<E::Secret>, TableError> {
    let Some(name) = spec.mac()? else {
        return Ok(None);
    };
    let digest = env.mac_size(name.as_cstr()).map_err(cipher::invalid_mac)?;
    layout.mac = options.mac_key_size.unwrap_or(digest);
    layout
        .authenc_size()
        .ok_or(EINVAL)
        .and_then(|size| env.allocate_secret(size))
        .map(Some)
        .map_err(cipher::invalid_mac)
}
