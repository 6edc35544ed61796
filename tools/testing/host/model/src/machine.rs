// SPDX-License-Identifier: GPL-2.0

//! A machine without a kernel.

use std::ffi::{
    CStr,
    CString, //
};

use verity::table::Features;

/// ENOENT
pub const ENOENT: i32 = 2;
/// ENOKEY
pub const ENOKEY: i32 = 126;

/// Something asked of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Open a device.
    Open(CString),
    /// Get memory of so many bytes, more than none.
    Allocate(usize),
    /// Find a hash algorithm for a hash type.
    Hash(CString, u32),
    /// Hash a salt.
    State(Vec<u8>),
    /// Hash zeros of so many bytes.
    ZeroDigest(u32),
    /// Get memory of so many bits.
    Bitmap(u32),
    /// Get the signature of a key.
    Signature(CString),
    /// Verify a root digest, with a signature or without.
    Verify(CString, Option<CString>),
    /// Log an unknown word.
    Log(CString),
}

/// The hash algorithms, and the sizes of their digests. The last two are none that a table can use.
pub const HASHES: [(&CStr, u32); 9] = [
    (c"md5", 16),
    (c"sha1", 20),
    (c"sha224", 28),
    (c"sha256", 32),
    (c"sha384", 48),
    (c"sha512", 64),
    (c"one", 1),
    (c"null", 0),
    (c"huge", 257),
];

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The options that the target has.
    pub features: Features,
    /// Whether the table is read-only.
    pub read_only: bool,
    /// The length of the target in sectors.
    pub sectors: u64,
    /// The size of a page in bytes.
    pub page_size: u32,
    /// The devices, and their logical block sizes in bytes.
    pub devices: Vec<(CString, u32)>,
    /// The keys that hold a signature.
    pub keys: Vec<CString>,
    /// Whether a root digest needs a signature.
    pub require_signature: bool,
    /// The call that fails, counted from zero, and its error number.
    pub failure: Option<(usize, i32)>,
    /// What was asked so far.
    pub calls: Vec<Call>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            features: Features {
                fec: true,
                signatures: true,
            },
            read_only: true,
            sectors: 8,
            page_size: 4096,
            devices: ["7:0", "7:1", "7:2"]
                .map(|name| (CString::new(name).unwrap(), 512))
                .into(),
            keys: vec![c"key".into()],
            require_signature: false,
            failure: None,
            calls: Vec::new(),
        }
    }
}

impl Machine {
    /// A machine that three bytes tell; `@@@` is the usual one.
    ///
    /// The bits of `flags` turn on what is rare. `failure` is the call that fails; `sectors` the
    /// length of the target.
    pub fn from_bytes(flags: u8, failure: u8, sectors: u8) -> Self {
        let bit = |bit: u8| ((flags ^ b'@') >> bit) & 1 == 1;
        let [failure, sectors] = [failure ^ b'@', sectors ^ b'@'];
        let mut machine = Self {
            features: Features {
                fec: !bit(0),
                signatures: !bit(1),
            },
            read_only: !bit(2),
            require_signature: bit(3),
            page_size: if bit(4) { 65536 } else { 4096 },
            // From one sector to nearly all.
            sectors: (u64::from(sectors & 7) + 1) << ((sectors >> 3) * 2),
            failure: (failure != 0).then(|| {
                (
                    usize::from(failure >> 2),
                    [5, 12, 22, 4095][usize::from(failure & 3)],
                )
            }),
            ..Self::default()
        };
        for (device, bit) in machine.devices.iter_mut().zip([bit(5), bit(7), false]) {
            device.1 = if bit { 4096 } else { 512 };
        }
        machine
    }

    fn call(&mut self, call: Call) -> Result<(), i32> {
        let number = self.calls.len();
        self.calls.push(call);
        match self.failure {
            Some((failing, errno)) if failing == number => Err(errno),
            _ => Ok(()),
        }
    }

    /// Opens a device, and tells its number.
    pub fn open(&mut self, name: &CStr) -> Result<usize, i32> {
        self.call(Call::Open(name.into()))?;
        let found = self
            .devices
            .iter()
            .position(|(device, _)| device.as_c_str() == name);
        found.ok_or(ENOENT)
    }

    /// Gets memory; none always works.
    pub fn allocate(&mut self, length: usize) -> Result<(), i32> {
        match length {
            0 => Ok(()),
            _ => self.call(Call::Allocate(length)),
        }
    }

    /// Finds a hash algorithm, and tells the size of its digests.
    pub fn hash(&mut self, name: &CStr, version: u32) -> Result<u32, i32> {
        self.call(Call::Hash(name.into(), version))?;
        let found = HASHES.iter().find(|(hash, _)| *hash == name);
        found.map(|&(_, size)| size).ok_or(ENOENT)
    }

    /// Hashes a salt.
    pub fn state(&mut self, salt: &[u8]) -> Result<(), i32> {
        self.call(Call::State(salt.to_vec()))
    }

    /// Hashes zeros.
    pub fn zero_digest(&mut self, block_size: u32) -> Result<(), i32> {
        self.call(Call::ZeroDigest(block_size))
    }

    /// Gets memory for bits.
    pub fn bitmap(&mut self, bits: u32) -> Result<(), i32> {
        self.call(Call::Bitmap(bits))
    }

    /// Gets the signature of a key, which is its name.
    pub fn signature(&mut self, key: &CStr) -> Result<CString, i32> {
        self.call(Call::Signature(key.into()))?;
        let found = self.keys.iter().find(|name| name.as_c_str() == key);
        found.cloned().ok_or(ENOKEY)
    }

    /// Verifies a root digest.
    pub fn verify(&mut self, digest: &CStr, signature: Option<&CStr>) -> Result<(), i32> {
        self.call(Call::Verify(digest.into(), signature.map(CString::from)))?;
        match signature {
            None if self.require_signature => Err(ENOKEY),
            _ => Ok(()),
        }
    }

    /// Logs an unknown word. Cannot fail.
    pub fn log(&mut self, word: &CStr) {
        let _ = self.call(Call::Log(word.into()));
    }
}
