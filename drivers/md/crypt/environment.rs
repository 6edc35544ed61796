// SPDX-License-Identifier: GPL-2.0

//! What the parser of tables gets from the kernel.

use crate::{
    convert::Ciphers,
    iv::{
        Generator,
        Secret, //
    },
    key::{
        self,
        Reference,
        Types, //
    },
    layout::Profile,
    special::State,
    table::Environment,
    BUDGET,
    LOG, //
};
use dm::{
    alloc,
    bio::Lack,
    context::MaySleep,
    crypto::{
        aead::Aead,
        shash::Hash,
        skcipher::Cipher, //
    },
    errno::{
        self,
        Errno, //
    },
    keys, secret,
    target::{
        args::TableError,
        device::Device,
        Access,
        Construction, //
    },
};
use kernel::{
    alloc::flags::__GFP_NOWARN,
    prelude::*, //
};

/// The kernel, for a target that is being constructed.
pub(crate) struct Kernel<'a> {
    pub(crate) ti: &'a Construction<'a>,
}

impl key::Secret for secret::Secret {
    fn wipe(&mut self) {
        Self::wipe(self);
    }
}

/// The types of keys that the kernel has. Trusted keys are not in Debian's.
pub(crate) const KEY_TYPES: Types = Types {
    encrypted: cfg!(CONFIG_ENCRYPTED_KEYS),
    trusted: false,
};

type Outcome<T> = core::result::Result<T, Errno>;

/// Copies a key of a keyring, which must have the size of `out`.
pub(crate) fn read_key(key: &Reference<'_>, out: &mut [u8], token: MaySleep<'_>) -> Outcome<()> {
    let kind = match key.kind {
        key::Type::User => keys::Kind::User,
        key::Type::Logon => keys::Kind::Logon,
        key::Type::Encrypted => keys::Kind::Encrypted,
        key::Type::Trusted => return Err(errno::EINVAL),
    };
    keys::copy_key(kind, key.description, out, token).map_err(Errno::from)
}

/// Gives a cipher of a device its key.
pub(crate) fn set_key(
    ciphers: &Ciphers,
    index: u32,
    key: &[u8],
    token: MaySleep<'_>,
) -> Outcome<()> {
    let result = match ciphers {
        Ciphers::Plain(_) => ciphers.get(index).ok_or(errno::EINVAL)?.set_key(key, token),
        Ciphers::Aead(aead) => aead.set_key(key, token),
    };
    result.map_err(Errno::from)
}

fn open_ciphers(name: &CStr, count: u32, token: MaySleep<'_>) -> Result<Ciphers> {
    let mut ciphers = alloc::with_capacity(count as usize, GFP_KERNEL | __GFP_NOWARN)?;
    for _ in 0..count {
        ciphers.push(Cipher::new(name, token)?, GFP_KERNEL)?;
    }
    Ciphers::plain(ciphers)
}

impl Environment for Kernel<'_> {
    type Secret = secret::Secret;
    type Bytes = KVec<u8>;
    type Cipher = Ciphers;
    type Iv = State;
    type Pools = ();
    type Device = Device;

    fn target_sectors(&self) -> u64 {
        self.ti.len()
    }

    fn key_types(&self) -> Types {
        KEY_TYPES
    }

    // Not built into Debian's kernels.
    fn fips(&self) -> bool {
        false
    }

    fn log_error(&mut self, text: &'static CStr) {
        LOG.error(format_args!("{}", text.to_str().unwrap_or_default()));
    }

    fn log_warning(&mut self, text: &'static CStr) {
        LOG.warn(format_args!("{}", text.to_str().unwrap_or_default()));
    }

    fn allocate_secret(&mut self, length: usize) -> Outcome<secret::Secret> {
        secret::Secret::zeroed(length).map_err(Errno::from)
    }

    fn allocate(&mut self, length: usize) -> Outcome<KVec<u8>> {
        alloc::point()
            .and_then(|()| Ok(KVec::from_elem(0, length, GFP_KERNEL)?))
            .map_err(Errno::from)
    }

    fn mac_size(&mut self, name: &CStr) -> Outcome<u32> {
        let hash = Hash::new(name, self.ti.may_sleep()).map_err(Errno::from)?;
        Ok(hash.digest_size() as u32)
    }

    fn open_cipher(&mut self, name: &CStr, transforms: u32, aead: bool) -> Outcome<Ciphers> {
        if aead {
            let aead = Aead::new(name, self.ti.may_sleep()).map_err(Errno::from)?;
            return Ok(Ciphers::Aead(aead));
        }
        open_ciphers(name, transforms, self.ti.may_sleep()).map_err(Errno::from)
    }

    fn iv_size(&self, ciphers: &Ciphers) -> u32 {
        ciphers.iv_size() as u32
    }

    fn block_size(&self, ciphers: &Ciphers) -> u32 {
        ciphers.block_size() as u32
    }

    fn read_key(&mut self, key: &Reference<'_>, out: &mut [u8]) -> Outcome<()> {
        read_key(key, out, self.ti.may_sleep())
    }

    fn set_key(&mut self, ciphers: &mut Ciphers, transform: u32, key: &[u8]) -> Outcome<()> {
        set_key(ciphers, transform, key, self.ti.may_sleep())
    }

    fn create_iv(&mut self, _: &Ciphers, generator: Generator, iv_size: u32) -> Outcome<State> {
        State::new(generator, iv_size).map_err(Errno::from)
    }

    fn set_iv_secret(&mut self, state: &mut State, secret: Secret<'_>) -> Outcome<()> {
        state.set_secret(secret);
        Ok(())
    }

    fn create_pools(&mut self, _: &Ciphers, _iv_size: u32) -> core::result::Result<(), TableError> {
        self.ti.set_aside_copies(&BUDGET).map_err(|lack| {
            let text = match lack {
                Lack::Count | Lack::Pages => c"Cannot allocate page mempool",
                Lack::Bios => c"Cannot allocate crypt bioset",
            };
            TableError::new(text, errno::ENOMEM)
        })
    }

    fn open_device(&mut self, name: &CStr) -> Outcome<Device> {
        self.ti.open(name, Access::Table).map_err(Errno::from)
    }

    fn is_zoned(&self, device: &Device) -> bool {
        device.is_zoned()
    }

    fn profile(&self, device: &Device) -> Option<Profile> {
        device.metadata().map(|metadata| Profile {
            metadata_size: metadata.bytes,
            interval: metadata.interval,
        })
    }

    fn set_tag_size(&mut self, ciphers: &mut Ciphers, size: u32) -> Outcome<()> {
        let Ciphers::Aead(aead) = ciphers else {
            return Err(errno::EINVAL);
        };
        aead.set_tag_size(size, self.ti.may_sleep())
            .map_err(Errno::from)
    }
}
