// SPDX-License-Identifier: GPL-2.0

//! A machine without a kernel.

use std::ffi::{
    CStr,
    CString, //
};

use dm::errno::Errno;
use integrity::table::{
    Environment,
    HashError,
    Profile, //
};

/// ENOENT
pub const ENOENT: i32 = 2;
/// ENOMEM
pub const ENOMEM: i32 = 12;
/// EINVAL
pub const EINVAL: i32 = 22;
/// ENOSYS
pub const ENOSYS: i32 = 38;
/// ENOKEY
pub const ENOKEY: i32 = 126;

/// A hash algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Its name.
    pub name: &'static CStr,
    /// The size of its digests in bytes.
    pub digest_size: u32,
    /// The sizes of keys that it takes, in bytes; it needs one if this is not empty.
    pub key_sizes: &'static [usize],
    /// Whether it is there for a MAC too, which an asynchronous one is not.
    pub synchronous: bool,
}

/// The hash algorithms.
pub const ALGORITHMS: [Algorithm; 7] = [
    plain(c"crc32c", 4),
    plain(c"sha1", 20),
    plain(c"sha256", 32),
    plain(c"sha512", 64),
    Algorithm {
        name: c"hmac(sha256)",
        digest_size: 32,
        key_sizes: &[1, 2, 4, 8, 16, 32, 64],
        synchronous: true,
    },
    Algorithm {
        name: c"far(sha1)",
        digest_size: 20,
        key_sizes: &[],
        synchronous: false,
    },
    plain(c"huge", 300),
];

const fn plain(name: &'static CStr, digest_size: u32) -> Algorithm {
    Algorithm {
        name,
        digest_size,
        key_sizes: &[],
        synchronous: true,
    }
}

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its name.
    pub name: CString,
    /// Its size.
    pub sectors: u64,
    /// Its integrity metadata.
    pub profile: Option<Profile>,
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The devices.
    pub devices: Vec<Device>,
    /// HZ.
    pub ticks_per_second: u32,
    /// The length of the target in sectors.
    pub target_sectors: u64,
    /// The allocation that fails, counted from zero.
    pub failing_allocation: Option<usize>,
    /// How many there were.
    pub allocations: usize,
    /// The devices that were opened.
    pub opened: Vec<CString>,
}

impl Default for Machine {
    fn default() -> Self {
        let device = |name: &CStr, sectors, profile| Device {
            name: name.into(),
            sectors,
            profile,
        };
        let profile = Profile {
            is_opaque: true,
            tuple_bytes: 32,
            interval_bytes: 512,
        };
        Self {
            devices: vec![
                device(c"7:0", 131_072, None),
                device(c"7:1", 32_768, None),
                device(c"7:2", 131_072, Some(profile)),
            ],
            ticks_per_second: 250,
            target_sectors: 8,
            failing_allocation: None,
            allocations: 0,
            opened: Vec::new(),
        }
    }
}

impl Machine {
    /// A machine that four bytes tell; `@@@@` is the usual one.
    pub fn from_bytes([sizes, meta, flags, target]: [u8; 4]) -> Self {
        let mut machine = Self::default();
        // From a few sectors to more than there are.
        let sectors = |byte: u8, usual: u64| match byte ^ b'@' {
            0 => usual,
            byte => u64::from(byte & 7 | 8) << (byte >> 3),
        };
        machine.devices[0].sectors = sectors(sizes, 131_072);
        machine.devices[1].sectors = sectors(meta, 32_768);
        let flags = flags ^ b'@';
        if flags & 1 != 0 {
            machine.failing_allocation = Some(usize::from(flags >> 4));
        }
        if let (true, Some(profile)) = (flags & 2 != 0, &mut machine.devices[2].profile) {
            profile.tuple_bytes = u32::from(flags >> 2) * 65;
            profile.interval_bytes = 512 << (flags >> 6);
            profile.is_opaque = flags & 4 == 0;
        }
        machine.target_sectors = match target ^ b'@' {
            0 => 8,
            byte => u64::from(byte) << (byte >> 3),
        };
        machine
    }

    /// Opens a device, and tells its number.
    pub fn open(&mut self, name: &CStr) -> Result<usize, i32> {
        self.opened.push(name.into());
        let mut devices = self.devices.iter();
        devices
            .position(|device| device.name.as_c_str() == name)
            .ok_or(ENOENT)
    }

    /// Gets memory.
    pub fn allocate(&mut self) -> Result<(), i32> {
        let number = self.allocations;
        self.allocations += 1;
        match self.failing_allocation {
            Some(failing) if failing == number => Err(ENOMEM),
            _ => Ok(()),
        }
    }

    /// Finds an algorithm and sets its key. The first is an error of the name, the second of the
    /// key.
    pub fn hash(&self, name: &CStr, key: Option<&[u8]>) -> Result<Algorithm, (bool, i32)> {
        let found = ALGORITHMS.iter().find(|algorithm| algorithm.name == name);
        let algorithm = *found.ok_or((false, ENOENT))?;
        match key {
            Some(_) if algorithm.key_sizes.is_empty() => Err((true, ENOSYS)),
            Some(key) if !algorithm.key_sizes.contains(&key.len()) => Err((true, EINVAL)),
            None if !algorithm.key_sizes.is_empty() => Err((true, ENOKEY)),
            _ => Ok(algorithm),
        }
    }
}

fn errno(number: i32) -> Errno {
    Errno::from_return(-number)
}

fn hash_error((key, number): (bool, i32)) -> HashError {
    match key {
        true => HashError::Key(errno(number)),
        false => HashError::Open(errno(number)),
    }
}

impl Environment for Machine {
    type Device = usize;
    type Hash = Algorithm;
    type Mac = Algorithm;
    type Bytes = Vec<u8>;

    fn open_device(&mut self, name: &CStr) -> Result<usize, Errno> {
        self.open(name).map_err(errno)
    }

    fn device_sectors(&self, device: &usize) -> u64 {
        self.devices[*device].sectors
    }

    fn profile(&self, device: &usize) -> Option<Profile> {
        self.devices[*device].profile
    }

    fn allocate(&mut self, length: usize) -> Result<Vec<u8>, Errno> {
        Machine::allocate(self).map_err(errno)?;
        Ok(vec![0; length])
    }

    fn open_hash(&mut self, name: &CStr, key: Option<&[u8]>) -> Result<Algorithm, HashError> {
        self.hash(name, key).map_err(hash_error)
    }

    fn digest_size(&self, hash: &Algorithm) -> u32 {
        hash.digest_size
    }

    fn open_mac(&mut self, name: &CStr, key: Option<&[u8]>) -> Result<Algorithm, HashError> {
        match self.hash(name, key) {
            Ok(algorithm) if algorithm.synchronous => Ok(algorithm),
            Ok(_) => Err(HashError::Open(errno(ENOENT))),
            Err(error) => Err(hash_error(error)),
        }
    }

    fn ticks_per_second(&self) -> u32 {
        self.ticks_per_second
    }
}
