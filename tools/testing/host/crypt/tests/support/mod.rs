// SPDX-License-Identifier: GPL-2.0

//! Ciphers and hashes by other people, with the IVs of the files under test.

#![allow(dead_code, unreachable_pub)]

use aes::{
    cipher::{
        BlockDecrypt,
        BlockEncrypt,
        KeyInit, //
    },
    Aes128,
    Aes192,
    Aes256, //
};
use crypt::iv_lmk::{
    Md5,
    SKIPPED, //
};

/// AES with a key of any of its sizes.
pub enum Aes {
    A128(Aes128),
    A192(Aes192),
    A256(Aes256),
}

impl Aes {
    pub fn new(key: &[u8]) -> Self {
        match key.len() {
            16 => Self::A128(Aes128::new_from_slice(key).unwrap()),
            24 => Self::A192(Aes192::new_from_slice(key).unwrap()),
            _ => Self::A256(Aes256::new_from_slice(key).unwrap()),
        }
    }

    pub fn encrypt(&self, block: &[u8; 16]) -> [u8; 16] {
        let mut block = (*block).into();
        match self {
            Self::A128(aes) => aes.encrypt_block(&mut block),
            Self::A192(aes) => aes.encrypt_block(&mut block),
            Self::A256(aes) => aes.encrypt_block(&mut block),
        }
        block.into()
    }

    pub fn decrypt(&self, block: &[u8; 16]) -> [u8; 16] {
        let mut block = (*block).into();
        match self {
            Self::A128(aes) => aes.decrypt_block(&mut block),
            Self::A192(aes) => aes.decrypt_block(&mut block),
            Self::A256(aes) => aes.decrypt_block(&mut block),
        }
        block.into()
    }
}

fn xor(a: &[u8; 16], b: &[u8; 16]) -> [u8; 16] {
    std::array::from_fn(|index| a[index] ^ b[index])
}

/// CBC in place.
pub fn cbc_encrypt(aes: &Aes, mut iv: [u8; 16], data: &mut [u8]) {
    for block in data.chunks_exact_mut(16) {
        iv = aes.encrypt(&xor(&iv, (&*block).try_into().unwrap()));
        block.copy_from_slice(&iv);
    }
}

/// CBC in place.
pub fn cbc_decrypt(aes: &Aes, mut iv: [u8; 16], data: &mut [u8]) {
    for block in data.chunks_exact_mut(16) {
        let cipher: [u8; 16] = (&*block).try_into().unwrap();
        block.copy_from_slice(&xor(&iv, &aes.decrypt(&cipher)));
        iv = cipher;
    }
}

/// XTS in place, with the IV as the tweak before encryption.
pub fn xts_encrypt(key: &[u8], iv: [u8; 16], data: &mut [u8]) {
    let (first, second) = key.split_at(key.len() / 2);
    if first.len() == 16 {
        let aes = |key| Aes128::new_from_slice(key).unwrap();
        xts_mode::Xts128::new(aes(first), aes(second)).encrypt_sector(data, iv);
    } else {
        let aes = |key| Aes256::new_from_slice(key).unwrap();
        xts_mode::Xts128::new(aes(first), aes(second)).encrypt_sector(data, iv);
    }
}

/// CRC-32 that starts with zero and is not inverted.
pub fn crc32(bytes: &[u8; 4]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(!0);
    hasher.update(bytes);
    !hasher.finalize()
}

/// MD5 as in RFC 1321. What there is in crates does not give its state away.
pub struct Md5State {
    state: [u32; 4],
    block: Vec<u8>,
}

impl Default for Md5State {
    fn default() -> Self {
        Self {
            state: [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476],
            block: Vec::new(),
        }
    }
}

impl Md5State {
    fn compress(&mut self, block: &[u8]) {
        const SHIFTS: [[u32; 4]; 4] = [
            [7, 12, 17, 22],
            [5, 9, 14, 20],
            [4, 11, 16, 23],
            [6, 10, 15, 21],
        ];

        let words: Vec<u32> = block
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        let [mut a, mut b, mut c, mut d] = self.state;
        for step in 0..64 {
            let (mixed, word) = match step / 16 {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
                2 => (b ^ c ^ d, (3 * step + 5) % 16),
                _ => (c ^ (b | !d), (7 * step) % 16),
            };
            let constant = ((step as f64 + 1.0).sin().abs() * 4_294_967_296.0) as u32;
            let sum = a
                .wrapping_add(mixed)
                .wrapping_add(constant)
                .wrapping_add(words[word]);
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(SHIFTS[step / 16][step % 4]));
        }
        for (state, word) in self.state.iter_mut().zip([a, b, c, d]) {
            *state = state.wrapping_add(word);
        }
    }

    pub fn add(&mut self, bytes: &[u8]) {
        self.block.extend(bytes);
        while self.block.len() >= 64 {
            let block: Vec<u8> = self.block.drain(..64).collect();
            self.compress(&block);
        }
    }

    /// The digest of a message of so many bytes that was added.
    pub fn digest(mut self, length: u64) -> [u8; 16] {
        self.add(&[0x80]);
        while self.block.len() != 56 {
            self.add(&[0]);
        }
        self.add(&(length * 8).to_le_bytes());
        let words = self.state.map(u32::to_le_bytes);
        words.concat().try_into().unwrap()
    }
}

impl Md5<&[u8]> for Md5State {
    fn update(&mut self, bytes: &[u8]) {
        self.add(bytes);
    }

    fn update_data(&mut self, data: &[u8]) {
        self.add(&data[SKIPPED..]);
    }

    fn state(self) -> [u32; 4] {
        assert!(self.block.is_empty(), "not a whole number of blocks");
        self.state
    }
}
