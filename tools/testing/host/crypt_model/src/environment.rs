// SPDX-License-Identifier: GPL-2.0

//! A machine as the environment of the parser.

use std::{
    ffi::CStr,
    ops::{
        Deref,
        DerefMut, //
    },
};

use crypt::{
    iv::{
        self,
        Generator, //
    },
    key::{
        Reference,
        Secret,
        Type,
        Types, //
    },
    layout::Profile,
    table::Environment,
};
use dm::{
    errno::Errno,
    target::args::TableError, //
};

use crate::{
    machine::{
        Call,
        Cipher, //
    },
    Machine,
};

/// Key material.
#[derive(Debug)]
pub struct Bytes(Vec<u8>);

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Bytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Secret for Bytes {
    fn wipe(&mut self) {
        self.0.fill(0);
    }
}

fn errno(number: i32) -> Errno {
    Errno::from_return(-number)
}

impl Environment for Machine {
    type Secret = Bytes;
    type Bytes = Vec<u8>;
    type Cipher = &'static Cipher;
    type Iv = ();
    type Pools = ();
    type Device = usize;

    fn target_sectors(&self) -> u64 {
        self.sectors
    }

    fn key_types(&self) -> Types {
        Types {
            encrypted: self.types.0,
            trusted: self.types.1,
        }
    }

    fn fips(&self) -> bool {
        self.fips
    }

    fn log_error(&mut self, text: &'static CStr) {
        self.log(text.to_str().unwrap());
    }

    fn log_warning(&mut self, text: &'static CStr) {
        self.log(text.to_str().unwrap());
    }

    fn allocate_secret(&mut self, length: usize) -> Result<Bytes, Errno> {
        self.secret(length).map_err(errno)?;
        Ok(Bytes(vec![0; length]))
    }

    fn allocate(&mut self, length: usize) -> Result<Vec<u8>, Errno> {
        Machine::allocate(self, length).map_err(errno)?;
        Ok(vec![0; length])
    }

    fn mac_size(&mut self, name: &CStr) -> Result<u32, Errno> {
        self.mac(name).map_err(errno)
    }

    fn open_cipher(
        &mut self,
        name: &CStr,
        transforms: u32,
        aead: bool,
    ) -> Result<&'static Cipher, Errno> {
        self.cipher(name, transforms, aead).map_err(errno)
    }

    fn iv_size(&self, cipher: &&'static Cipher) -> u32 {
        cipher.iv_size
    }

    fn block_size(&self, cipher: &&'static Cipher) -> u32 {
        cipher.block_size
    }

    fn read_key(&mut self, key: &Reference<'_>, out: &mut [u8]) -> Result<(), Errno> {
        let kind = match key.kind {
            Type::Logon => "logon",
            Type::User => "user",
            Type::Encrypted => "encrypted",
            Type::Trusted => "trusted",
        };
        let payload = Machine::read_key(self, kind, key.description, out.len());
        out.copy_from_slice(&payload.map_err(errno)?);
        Ok(())
    }

    fn set_key(
        &mut self,
        cipher: &mut &'static Cipher,
        transform: u32,
        key: &[u8],
    ) -> Result<(), Errno> {
        Machine::set_key(self, cipher, transform, key).map_err(errno)
    }

    fn create_iv(
        &mut self,
        _cipher: &&'static Cipher,
        generator: Generator,
        _iv_size: u32,
    ) -> Result<(), Errno> {
        self.call(Call::CreateIv(format!("{generator:?}")))
            .map_err(errno)
    }

    fn set_iv_secret(&mut self, _iv: &mut (), secret: iv::Secret<'_>) -> Result<(), Errno> {
        match secret {
            iv::Secret::None => Ok(()),
            iv::Secret::Lmk(seed) => self.iv_secret(seed, false),
            iv::Secret::Tcw { seed, whitening } => {
                self.iv_secret(&[seed, whitening].concat(), false) //
            }
            iv::Secret::Elephant(key) => self.iv_secret(key, true),
        }
        .map_err(errno)
    }

    fn create_pools(&mut self, _cipher: &&'static Cipher, _iv_size: u32) -> Result<(), TableError> {
        self.call(Call::Pools)
            .map_err(|number| TableError::new(c"pools", errno(number)))
    }

    fn open_device(&mut self, name: &CStr) -> Result<usize, Errno> {
        self.open(name).map_err(errno)
    }

    fn is_zoned(&self, device: &usize) -> bool {
        self.devices[*device].zoned
    }

    fn profile(&self, device: &usize) -> Option<Profile> {
        let (metadata_size, interval) = self.devices[*device].profile?;
        Some(Profile {
            metadata_size,
            interval,
        })
    }

    fn set_tag_size(&mut self, _cipher: &mut &'static Cipher, size: u32) -> Result<(), Errno> {
        self.tag_size(size).map_err(errno)
    }
}
