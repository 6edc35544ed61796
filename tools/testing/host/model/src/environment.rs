// SPDX-License-Identifier: GPL-2.0

//! A machine as the environment of the parser.

use std::ffi::{
    CStr,
    CString, //
};

use dm::errno::Errno;
use verity::{
    hash_tree::{
        BlockSize,
        Version, //
    },
    table::{
        Environment,
        Features,
        Hashing,
        StateError, //
    },
};

use crate::Machine;

fn errno(number: i32) -> Errno {
    Errno::from_return(-number)
}

impl Environment for Machine {
    type Device = usize;
    type Hash = u32;
    type State = Vec<u8>;
    type Bytes = Vec<u8>;
    type Bitmap = u32;
    type Signature = CString;

    fn features(&self) -> Features {
        self.features
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn target_sectors(&self) -> u64 {
        self.sectors
    }

    fn page_size(&self) -> u32 {
        self.page_size
    }

    fn open_device(&mut self, name: &CStr) -> Result<usize, Errno> {
        self.open(name).map_err(errno)
    }

    fn logical_block_size(&self, device: &usize) -> u32 {
        self.devices[*device].1
    }

    fn allocate(&mut self, length: usize) -> Result<Vec<u8>, Errno> {
        Machine::allocate(self, length).map_err(errno)?;
        Ok(vec![0; length])
    }

    fn open_hash(&mut self, name: &CStr, version: Version) -> Result<u32, Errno> {
        self.hash(name, version.number()).map_err(errno)
    }

    fn digest_size(&self, hash: &u32) -> u32 {
        *hash
    }

    fn initial_state(&mut self, _hash: &u32, salt: &[u8]) -> Result<Vec<u8>, StateError> {
        // Memory runs out; anything else is from hashing.
        self.state(salt).map_err(|number| match number {
            12 => StateError::Allocate(errno(number)),
            _ => StateError::Hash(errno(number)),
        })?;
        Ok(salt.to_vec())
    }

    fn zero_digest(&mut self, hashing: &Hashing<Self>, block: BlockSize) -> Result<Vec<u8>, Errno> {
        Machine::zero_digest(self, block.bytes()).map_err(errno)?;
        Ok(vec![0; hashing.root_digest.len()])
    }

    fn bitmap(&mut self, bits: u32) -> Result<u32, Errno> {
        Machine::bitmap(self, bits).map_err(errno)?;
        Ok(bits)
    }

    fn signature(&mut self, key: &CStr) -> Result<CString, Errno> {
        Machine::signature(self, key).map_err(errno)
    }

    fn verify_root_digest(
        &mut self,
        digest: &CStr,
        signature: Option<&CString>,
    ) -> Result<(), Errno> {
        self.verify(digest, signature.map(CString::as_c_str))
            .map_err(errno)
    }

    fn unrecognized_option(&mut self, word: &CStr) {
        self.log(word);
    }
}
