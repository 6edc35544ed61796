// SPDX-License-Identifier: GPL-2.0

//! What the parser of tables gets from the kernel.

use crate::{
    hash_tree::{
        BlockSize,
        Geometry,
        Version, //
    },
    hasher::{
        Algorithm,
        Digest,
        Hasher,
        Salted, //
    },
    options::Options,
    signature,
    table::{
        Config,
        Environment,
        Features,
        Hashing,
        StateError, //
    },
    LOG,
};
use dm::{
    alloc,
    bits::AtomicBits,
    errno::{
        Errno,
        EINVAL, //
    },
    target::{
        device::Device,
        Access,
        Construction, //
    },
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

/// The kernel, for a target that is being constructed.
pub(crate) struct Kernel<'a> {
    pub(crate) ti: &'a Construction<'a>,
}

type Outcome<T> = core::result::Result<T, Errno>;

impl Environment for Kernel<'_> {
    type Device = Device;
    type Hash = Algorithm;
    type State = Salted;
    type Bytes = KVVec<u8>;
    type Bitmap = AtomicBits;
    type Signature = KVec<u8>;

    fn features(&self) -> Features {
        Features {
            fec: true,
            signatures: true,
        }
    }

    fn is_read_only(&self) -> bool {
        self.ti.is_read_only()
    }

    fn target_sectors(&self) -> u64 {
        self.ti.len()
    }

    fn page_size(&self) -> u32 {
        PAGE_SIZE as u32
    }

    fn open_device(&mut self, name: &CStr) -> Outcome<Device> {
        self.ti.open(name, Access::Read).map_err(Errno::from)
    }

    fn logical_block_size(&self, device: &Device) -> u32 {
        device.logical_block_size()
    }

    fn allocate(&mut self, length: usize) -> Outcome<KVVec<u8>> {
        alloc::zeroed(length, GFP_KERNEL).map_err(Errno::from)
    }

    fn open_hash(&mut self, name: &CStr, version: Version) -> Outcome<Algorithm> {
        Algorithm::new(name, version, self.ti.may_sleep()).map_err(Errno::from)
    }

    fn digest_size(&self, hash: &Algorithm) -> u32 {
        hash.digest_size() as u32
    }

    fn initial_state(
        &mut self,
        hash: &Algorithm,
        salt: &[u8],
    ) -> core::result::Result<Salted, StateError> {
        hash.salted(salt, self.ti.may_sleep())
    }

    fn zero_digest(
        &mut self,
        hashing: &Hashing<Self>,
        data_block: BlockSize,
    ) -> Outcome<KVVec<u8>> {
        let mut digest = self.allocate(hashing.hash.digest_size())?;
        let zeros = self.allocate(data_block.bytes() as usize)?;
        let hasher = Hasher {
            algorithm: &hashing.hash,
            salt: &hashing.salt,
            salted: hashing.state.as_ref(),
        };
        let mut computed = Digest::new();
        hasher
            .digest(zeros.as_slice().into(), &mut computed)
            .map_err(Errno::from)?;
        let front = computed.bytes().get(..digest.len()).ok_or(EINVAL)?;
        digest.copy_from_slice(front);
        Ok(digest)
    }

    fn bitmap(&mut self, bits: u32) -> Outcome<AtomicBits> {
        AtomicBits::new(bits).map_err(Errno::from)
    }

    fn signature(&mut self, key: &CStr) -> Outcome<KVec<u8>> {
        signature::of_key(key, self.ti.may_sleep()).map_err(Errno::from)
    }

    fn verify_root_digest(&mut self, digest: &CStr, signature: Option<&KVec<u8>>) -> Outcome<()> {
        let signature = signature.map(KVec::as_slice);
        signature::verify(digest, signature, self.ti.may_sleep()).map_err(Errno::from)
    }

    fn unrecognized_option(&mut self, word: &CStr) {
        LOG.error(format_args!(
            "Unrecognized verity feature request: {}",
            word.to_str().unwrap_or("?")
        ));
    }
}

/// The table without the parser's access to the target, which is only there during construction.
pub(crate) fn detach<'a>(
    config: Config<Kernel<'a>>,
) -> (
    Device,
    Device,
    Geometry,
    Hashing<Kernel<'static>>,
    Options<Kernel<'static>>,
) {
    let Config {
        hashing, options, ..
    } = config;
    (
        config.data_device,
        config.hash_device,
        config.geometry,
        Hashing {
            version: hashing.version,
            name: hashing.name,
            hash: hashing.hash,
            root_digest: hashing.root_digest,
            salt: hashing.salt,
            state: hashing.state,
        },
        Options {
            corruption: options.corruption,
            error: options.error,
            zero_digest: options.zero_digest,
            validated: options.validated,
            try_verify_in_tasklet: options.try_verify_in_tasklet,
            parity: options.parity,
            signature: options.signature,
        },
    )
}
