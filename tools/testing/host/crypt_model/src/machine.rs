// SPDX-License-Identifier: GPL-2.0

//! A machine without a kernel.

use std::ffi::{
    CStr,
    CString, //
};

const ENOENT: i32 = 2;
const ENOMEM: i32 = 12;
const EINVAL: i32 = 22;
const ENOKEY: i32 = 126;

/// Something asked of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Get memory of so many bytes, more than none.
    Allocate(usize),
    /// Get memory for key material of so many bytes.
    Secret(usize),
    /// Find a message authentication code.
    Mac(CString),
    /// Find a cipher, for so many transforms, authenticated or not.
    Cipher(CString, u32, bool),
    /// Read a key from a keyring, by its type and its description.
    ReadKey(String, CString),
    /// Give a transform its key.
    SetKey(u32, Vec<u8>),
    /// Get what an IV mode needs.
    CreateIv(String),
    /// Give it a part of the key.
    IvSecret(Vec<u8>),
    /// Get reserves of memory.
    Pools,
    /// Open a device.
    Open(CString),
    /// Set the size of an authentication tag.
    TagSize(u32),
    /// Log an error or a warning.
    Log(String),
}

/// A cipher.
#[derive(Debug)]
pub struct Cipher {
    /// The name.
    pub name: &'static CStr,
    /// Whether it is authenticated.
    pub aead: bool,
    /// The bytes of an IV.
    pub iv_size: u32,
    /// The bytes of a block.
    pub block_size: u32,
    /// The sizes that keys may have; without any, all.
    pub key_sizes: &'static [usize],
}

const fn cipher(
    name: &'static CStr,
    aead: bool,
    [iv_size, block_size]: [u32; 2],
    key_sizes: &'static [usize],
) -> Cipher {
    Cipher {
        name,
        aead,
        iv_size,
        block_size,
        key_sizes,
    }
}

/// The ciphers. The last four are none that there are.
pub const CIPHERS: [Cipher; 17] = [
    cipher(c"cbc(aes)", false, [16, 16], &[16, 24, 32]),
    cipher(c"xts(aes)", false, [16, 16], &[32, 64]),
    cipher(c"ecb(aes)", false, [0, 16], &[16, 24, 32]),
    cipher(c"ctr(aes)", false, [16, 1], &[16, 24, 32]),
    cipher(c"essiv(cbc(aes),sha256)", false, [16, 16], &[16, 24, 32]),
    cipher(c"ecb(cipher_null)", false, [0, 1], &[0]),
    cipher(c"cbc(des3_ede)", false, [8, 8], &[24]),
    cipher(c"cbc(blowfish)", false, [8, 8], &[4, 8, 16, 32, 56]),
    cipher(c"adiantum(xchacha12,aes)", false, [32, 16], &[32]),
    cipher(c"gcm(aes)", true, [12, 1], &[16, 24, 32]),
    cipher(c"rfc7539(chacha20,poly1305)", true, [12, 1], &[32]),
    cipher(c"authenc(hmac(sha256),xts(aes))", true, [16, 16], &[]),
    cipher(
        c"essiv(authenc(hmac(sha256),cbc(aes)),sha256)",
        true,
        [16, 16],
        &[],
    ),
    cipher(c"cbc(odd)", false, [16, 24], &[]),
    cipher(c"cbc(wide)", false, [16, 1024], &[]),
    cipher(c"cbc(short)", false, [4, 16], &[]),
    cipher(c"cbc(any)", false, [16, 16], &[]),
];

/// The message authentication codes, and the bytes of their digests.
pub const MACS: [(&CStr, u32); 3] = [
    (c"hmac(sha256)", 32),
    (c"hmac(sha1)", 20),
    (c"cmac(aes)", 16),
];

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    /// The name.
    pub name: CString,
    /// Whether it has zones.
    pub zoned: bool,
    /// The metadata and the data of a sector in bytes, if it has any that is the target's.
    pub profile: Option<(u32, u32)>,
}

/// A key in a keyring.
#[derive(Clone, Debug)]
pub struct Key {
    /// The type.
    pub kind: &'static str,
    /// The description.
    pub description: CString,
    /// What it holds.
    pub payload: Vec<u8>,
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The length of the target in sectors.
    pub sectors: u64,
    /// Whether there are keys of type "encrypted", and "trusted".
    pub types: (bool, bool),
    /// Whether algorithms that FIPS does not know are forbidden.
    pub fips: bool,
    /// The devices.
    pub devices: Vec<Device>,
    /// The keys.
    pub keys: Vec<Key>,
    /// The longest authentication tag that ciphers can have.
    pub max_tag: u32,
    /// The call that fails, counted from zero, and its error number.
    pub failure: Option<(usize, i32)>,
    /// What was asked so far.
    pub calls: Vec<Call>,
}

impl Default for Machine {
    fn default() -> Self {
        let device = |name: &str, zoned, profile| Device {
            name: CString::new(name).unwrap(),
            zoned,
            profile,
        };
        let key = |kind, description: &str, size| Key {
            kind,
            description: CString::new(description).unwrap(),
            payload: (0..size).collect(),
        };
        Self {
            sectors: 64,
            types: (true, false),
            fips: false,
            devices: vec![
                device("7:0", false, None),
                device("7:1", false, Some((48, 512))),
                device("7:2", true, Some((28, 4096))),
                device("7:3", false, Some((500, 512))),
            ],
            keys: vec![
                key("logon", "a", 64),
                key("logon", "b:c", 32),
                key("user", "a", 16),
                key("encrypted", "a", 32),
                key("trusted", "a", 32),
            ],
            max_tag: 64,
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
        Self {
            types: (!bit(0), bit(1)),
            fips: bit(2),
            max_tag: if bit(3) { 16 } else { 64 },
            sectors: (u64::from(sectors & 7) + 64) << ((sectors >> 3) & 7),
            failure: (failure != 0).then(|| {
                (
                    usize::from(failure >> 2),
                    [5, 12, 22, 4095][usize::from(failure & 3)],
                )
            }),
            ..Self::default()
        }
    }

    /// Notes a call, and fails if it is the one to fail.
    pub fn call(&mut self, call: Call) -> Result<(), i32> {
        let number = self.calls.len();
        self.calls.push(call);
        match self.failure {
            Some((failing, errno)) if failing == number => Err(errno),
            _ => Ok(()),
        }
    }

    /// Gets memory; none always works.
    pub fn allocate(&mut self, length: usize) -> Result<(), i32> {
        match length {
            0 => Ok(()),
            _ => self.call(Call::Allocate(length)),
        }
    }

    /// Gets memory for key material.
    pub fn secret(&mut self, length: usize) -> Result<(), i32> {
        self.call(Call::Secret(length))?;
        if length > 1 << 16 {
            return Err(ENOMEM);
        }
        Ok(())
    }

    /// Tells the size of the digest of a message authentication code.
    pub fn mac(&mut self, name: &CStr) -> Result<u32, i32> {
        self.call(Call::Mac(name.into()))?;
        let found = MACS.iter().find(|(mac, _)| *mac == name);
        found.map(|&(_, size)| size).ok_or(ENOENT)
    }

    /// Finds a cipher.
    pub fn cipher(
        &mut self,
        name: &CStr,
        transforms: u32,
        aead: bool,
    ) -> Result<&'static Cipher, i32> {
        self.call(Call::Cipher(name.into(), transforms, aead))?;
        if transforms > 1 << 10 {
            return Err(ENOMEM);
        }
        let found = CIPHERS.iter().find(|cipher| cipher.name == name);
        found.filter(|cipher| cipher.aead == aead).ok_or(ENOENT)
    }

    /// Reads a key, which must be of the right size.
    pub fn read_key(
        &mut self,
        kind: &str,
        description: &CStr,
        size: usize,
    ) -> Result<Vec<u8>, i32> {
        self.call(Call::ReadKey(kind.into(), description.into()))?;
        let mut keys = self.keys.iter();
        let key = keys.find(|key| key.kind == kind && key.description.as_c_str() == description);
        let payload = key.map(|key| key.payload.clone()).ok_or(ENOKEY)?;
        if payload.len() != size {
            return Err(EINVAL);
        }
        Ok(payload)
    }

    /// Gives a transform its key.
    pub fn set_key(&mut self, cipher: &Cipher, transform: u32, key: &[u8]) -> Result<(), i32> {
        self.call(Call::SetKey(transform, key.to_vec()))?;
        if cipher.key_sizes.is_empty() || cipher.key_sizes.contains(&key.len()) {
            return Ok(());
        }
        Err(EINVAL)
    }

    /// Gives an IV mode a part of the key.
    pub fn iv_secret(&mut self, secret: &[u8], aes: bool) -> Result<(), i32> {
        self.call(Call::IvSecret(secret.to_vec()))?;
        if aes && ![16, 24, 32].contains(&secret.len()) {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// Opens a device, and tells its number.
    pub fn open(&mut self, name: &CStr) -> Result<usize, i32> {
        self.call(Call::Open(name.into()))?;
        let mut devices = self.devices.iter();
        let found = devices.position(|device| device.name.as_c_str() == name);
        found.ok_or(ENOENT)
    }

    /// Sets the size of an authentication tag.
    pub fn tag_size(&mut self, size: u32) -> Result<(), i32> {
        self.call(Call::TagSize(size))?;
        if size > self.max_tag {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// Logs. Cannot fail.
    pub fn log(&mut self, text: &str) {
        let _ = self.call(Call::Log(text.into()));
    }
}
