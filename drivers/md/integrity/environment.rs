// SPDX-License-Identifier: GPL-2.0

//! What the parser of tables gets from the kernel.

use crate::table::{
    Environment,
    HashError,
    Profile, //
};
use dm::{
    crypto::shash::Hash,
    errno::{
        Errno,
        ENOKEY, //
    },
    secret::Secret,
    target::{
        device::Device,
        Access,
        Construction, //
    },
};
use kernel::{
    prelude::*,
    time::msecs_to_jiffies, //
};

/// The kernel, for a target that is being constructed.
pub(crate) struct Kernel<'a> {
    pub(crate) ti: &'a Construction<'a>,
}

/// Returns the ticks of the kernel's clock in a second.
pub(crate) fn ticks_per_second() -> u32 {
    msecs_to_jiffies(1000) as u32
}

type Outcome<T> = core::result::Result<T, Errno>;

impl Kernel<'_> {
    fn hash(&self, name: &CStr, key: Option<&[u8]>) -> core::result::Result<Hash, HashError> {
        let token = self.ti.may_sleep();
        let mut hash = Hash::for_writes(name, token).map_err(|e| HashError::Open(e.into()))?;
        match key {
            Some(key) => hash
                .set_key(key, token)
                .map_err(|e| HashError::Key(e.into()))?,
            None if hash.needs_key() => return Err(HashError::Key(ENOKEY)),
            None => {}
        }
        Ok(hash)
    }
}

impl Environment for Kernel<'_> {
    type Device = Device;
    type Hash = Hash;
    type Mac = Hash;
    type Bytes = Secret;

    fn open_device(&mut self, name: &CStr) -> Outcome<Device> {
        self.ti.open(name, Access::Table).map_err(Errno::from)
    }

    fn device_sectors(&self, device: &Device) -> u64 {
        device.sectors()
    }

    fn profile(&self, device: &Device) -> Option<Profile> {
        device.metadata().map(|metadata| Profile {
            is_opaque: true,
            tuple_bytes: metadata.bytes,
            interval_bytes: metadata.interval.into(),
        })
    }

    fn allocate(&mut self, length: usize) -> Outcome<Secret> {
        Secret::zeroed(length).map_err(Errno::from)
    }

    fn open_hash(
        &mut self,
        name: &CStr,
        key: Option<&[u8]>,
    ) -> core::result::Result<Hash, HashError> {
        self.hash(name, key)
    }

    fn digest_size(&self, hash: &Hash) -> u32 {
        hash.digest_size() as u32
    }

    fn open_mac(
        &mut self,
        name: &CStr,
        key: Option<&[u8]>,
    ) -> core::result::Result<Hash, HashError> {
        self.hash(name, key)
    }

    fn ticks_per_second(&self) -> u32 {
        ticks_per_second()
    }
}
