// SPDX-License-Identifier: GPL-2.0

//! The ciphertext of the C target for each IV mode: rows C-42 to C-53.
//!
//! The values are the first 16 bytes of the SHA-256 digest of 1 MiB of encrypted zeros, as seen on
//! the C target of Linux 7.3.4.

mod support;

use crypt::{
    cipher::Spec,
    iv::{
        eboiv_block,
        Attributes,
        Generator,
        Mode,
        Secret, //
    },
    iv_elephant, iv_lmk, iv_tcw,
    key::KeyLayout,
    layout::{
        iv_sector,
        key_index, //
    },
    options::SectorSize,
};
use dm::target::number::hex_encode;
use sha2::{
    Digest,
    Sha256, //
};
use support::*;

/// A device: what is encrypted by whom is up to the files under test.
struct Device {
    name: String,
    key: Vec<u8>,
    layout: KeyLayout,
    generator: Generator,
    size: SectorSize,
    large: bool,
}

impl Device {
    fn new(cipher: &str, key: &[u8], sector_size: u32, large: bool) -> Self {
        let spec = Spec::parse(cipher.as_bytes(), false).unwrap();
        let mode = Mode::from_word(spec.iv.unwrap()).unwrap();
        let mut layout = KeyLayout::new(key.len() as u32, spec.keys, 0, false);
        layout.reserve(mode, 16).unwrap();
        let size = SectorSize::from_bytes(sector_size).unwrap();
        let attributes = Attributes {
            aead: false,
            block_size: 16,
            iv_size: 16,
            sector_size: size,
            fips: false,
        };
        Self {
            name: spec.api_name().unwrap().as_cstr().to_str().unwrap().into(),
            generator: Generator::new(mode, &attributes, &layout).unwrap(),
            key: key.to_vec(),
            layout,
            size,
            large,
        }
    }

    fn key_of(&self, transform: u32) -> &[u8] {
        self.layout.subkey(&self.key, transform).unwrap()
    }

    fn secret(&self) -> Secret<'_> {
        self.generator.secret(&self.layout, &self.key, 16).unwrap()
    }

    fn iv(&self, sector: u64, data: &mut [u8]) -> [u8; 16] {
        let mut iv = [0xaa; 16];
        match self.generator {
            Generator::Counter(counter) => {
                counter.write(sector, &mut iv);
                assert_eq!(iv, counter.block(sector));
            }
            Generator::Lmk { seeded } => {
                let seed = match self.secret() {
                    Secret::Lmk(seed) if seeded => Some(seed),
                    _ => None,
                };
                iv = iv_lmk::iv(seed, sector, &*data, Md5State::default());
            }
            Generator::Tcw => {
                let Secret::Tcw { seed, .. } = self.secret() else {
                    panic!("no secret");
                };
                iv_tcw::iv(seed, sector, &mut iv);
            }
            Generator::Eboiv | Generator::Elephant => {
                if let Secret::Elephant(key) = self.secret() {
                    let aes = Aes::new(key);
                    let key =
                        iv_elephant::sector_key(sector, self.size, |block| aes.encrypt(block));
                    iv_elephant::encrypt(data, &key);
                }
                eboiv_block(sector, self.size, &mut iv);
                // CBC of zeros: the IV itself, encrypted.
                iv = Aes::new(self.key_of(0)).encrypt(&iv);
            }
            Generator::Random => panic!("random"),
        }
        iv
    }

    fn encrypt(&self, sector: u64, data: &mut [u8]) {
        let key = self.key_of(key_index(sector, 0, self.layout.transforms));
        let number = iv_sector(sector, 0, self.size, self.large);
        let iv = self.iv(number, data);
        match &self.name[..] {
            "xts(aes)" => xts_encrypt(key, iv, data),
            "cbc(aes)" => cbc_encrypt(&Aes::new(key), iv, data),
            "essiv(cbc(aes),sha256)" => {
                let iv = Aes::new(&Sha256::digest(key)).encrypt(&iv);
                cbc_encrypt(&Aes::new(key), iv, data);
            }
            name => panic!("{name}"),
        }
        if let Secret::Tcw { whitening, .. } = self.secret() {
            let whitening = iv_tcw::whitening(whitening, number, crc32);
            iv_tcw::whiten(data, &whitening);
        }
    }

    /// The digest of 1 MiB of encrypted zeros.
    fn digest(&self) -> String {
        let mut image = vec![0; 1 << 20];
        let step = u64::from(self.size.sectors());
        for (data, index) in image.chunks_mut(self.size.bytes() as usize).zip(0..) {
            self.encrypt(index * step, data);
        }
        let digest = Sha256::digest(&image);
        let digits = digest[..16].iter().copied().flat_map(hex_encode);
        digits.map(char::from).collect()
    }
}

/// The bytes of zeros and then a number in decimal digits, as hexadecimal ones.
fn numbered(size: usize, number: u8) -> Vec<u8> {
    let digits = format!("{number:0width$}", width = size * 2);
    let digit = |range| u8::from_str_radix(&digits[range], 16).unwrap();
    (0..size)
        .map(|index| digit(index * 2..index * 2 + 2))
        .collect()
}

#[track_caller]
fn golden(cipher: &str, key: &[u8], digest: &str) {
    assert_eq!(
        Device::new(cipher, key, 512, false).digest(),
        digest,
        "{cipher}"
    );
}

#[test]
fn modes_of_xts() {
    let key = numbered(64, 1);
    golden("aes-xts-plain64", &key, "67d09a473e32e6d072cee3a63abe7b83");
    golden(
        "capi:xts(aes)-plain64",
        &key,
        "67d09a473e32e6d072cee3a63abe7b83",
    );
    golden(
        "aes-xts-plain64be",
        &key,
        "9afb0a407babf20804ef97849f9d2eb7",
    );
    golden("aes-xts-tcw", &key, "abafd2d86009a5e175345534ef3fac99");
}

#[test]
fn large_sectors() {
    let digest = |large| Device::new("aes-xts-plain64", &numbered(64, 1), 4096, large).digest();
    assert_eq!(digest(false), "a44385de5a908effedec6a65c2fe6325");
    assert_eq!(digest(true), "90bb6a41ca8afd8c5ed131893ab025bc");
}

#[test]
fn modes_of_cbc() {
    let key = numbered(32, 1);
    golden(
        "aes-cbc-essiv:sha256",
        &key,
        "7da961f93a9bbc7cc1922a25e6df7e9b",
    );
    golden("aes-cbc-plain", &key, "29dc6044b5682ef8b489704d04766f45");
    golden("aes", &key, "29dc6044b5682ef8b489704d04766f45");
    golden("aes-cbc-plain64", &key, "29dc6044b5682ef8b489704d04766f45");
    golden("aes-cbc-benbi", &key, "549dc55bb2c9cc3690abc44da045dc70");
    golden("aes-cbc-null", &key, "4886a8b1a471b5464e37fd3a1e82e3e8");
    golden("aes-cbc-eboiv", &key, "76337c3b0d278f7ed9fdf626943144fe");
    golden(
        "aes-cbc-elephant",
        &numbered(64, 1),
        "a03ad04e3e1f08c2cbfda63daf57468f",
    );
}

#[test]
fn many_keys() {
    let key: Vec<u8> = (1..=64).flat_map(|key| numbered(16, key)).collect();
    golden("aes:64-cbc-lmk", &key, "6d8664a98177442315a18414323e22dc");
    golden(
        "capi:cbc(aes)-lmk",
        &key,
        "6d8664a98177442315a18414323e22dc",
    );
}
