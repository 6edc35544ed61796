// SPDX-License-Identifier: GPL-2.0

//! The Elephant diffuser of BitLocker, with IV mode elephant.
//!
//! Before a write, the data is XORed with a key of the sector and goes through diffuser A and then
//! B, each in the direction of encryption; it is encrypted with the IV of mode eboiv. A read does
//! the reverse. See N. Ferguson, "AES-CBC + Elephant diffuser", Microsoft, 2006.

use crate::{
    iv::eboiv_block,
    options::SectorSize, //
};

/// The bytes of a sector key.
pub const SECTOR_KEY_SIZE: usize = 32;

/// The key of a sector: two blocks, encrypted by AES with the second half of the key.
pub fn sector_key(
    sector: u64,
    size: SectorSize,
    mut encrypt: impl FnMut(&[u8; 16]) -> [u8; 16],
) -> [u8; SECTOR_KEY_SIZE] {
    let mut block = [0; 16];
    eboiv_block(sector, size, &mut block);
    let first = encrypt(&block);
    if let Some(last) = block.last_mut() {
        *last = 0x80;
    }
    let second = encrypt(&block);
    let mut key = [0; SECTOR_KEY_SIZE];
    key.iter_mut()
        .zip(first.iter().chain(&second))
        .for_each(|(to, from)| *to = *from);
    key
}

/// Changes a sector of plaintext into what is encrypted.
pub fn encrypt(data: &mut [u8], key: &[u8; SECTOR_KEY_SIZE]) {
    xor(data, key);
    A.encrypt(data);
    B.encrypt(data);
}

/// Changes what was decrypted into a sector of plaintext.
pub fn decrypt(data: &mut [u8], key: &[u8; SECTOR_KEY_SIZE]) {
    B.decrypt(data);
    A.decrypt(data);
    xor(data, key);
}

fn xor(data: &mut [u8], key: &[u8; SECTOR_KEY_SIZE]) {
    for (byte, key) in data.iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}

/// One of the two diffusers: each word of 32 bits gets added two others of the ring of words.
struct Diffuser {
    rounds: u32,
    /// How many words further the two are.
    steps: [usize; 2],
    /// By how many bits the second is rotated, for each fourth word.
    rotations: [u32; 4],
}

/// The one whose words depend on those before them. Steps back are those forward around a ring
/// whose size, a power of two, takes off what is too much.
const A: Diffuser = Diffuser {
    rounds: 5,
    steps: [0usize.wrapping_sub(2), 0usize.wrapping_sub(5)],
    rotations: [9, 0, 13, 0],
};

/// The one whose words depend on those after them.
const B: Diffuser = Diffuser {
    rounds: 3,
    steps: [2, 5],
    rotations: [0, 10, 0, 25],
};

impl Diffuser {
    fn decrypt(&self, data: &mut [u8]) {
        for _ in 0..self.rounds {
            for index in 0..data.len() / 4 {
                self.change(data, index, u32::wrapping_add);
            }
        }
    }

    fn encrypt(&self, data: &mut [u8]) {
        for _ in 0..self.rounds {
            for index in (0..data.len() / 4).rev() {
                self.change(data, index, u32::wrapping_sub);
            }
        }
    }

    #[inline]
    fn change(&self, data: &mut [u8], index: usize, combine: fn(u32, u32) -> u32) {
        let [first, second] = self.steps.map(|step| word(data, index.wrapping_add(step)));
        let rotation = self.rotations.get(index & 3).copied().unwrap_or(0);
        let other = first ^ second.rotate_left(rotation);
        let changed = combine(word(data, index), other);
        set_word(data, index, changed);
    }
}

/// Where a word is. The number of words is a power of two, that of the index does not matter.
#[inline]
fn offset(length: usize, index: usize) -> usize {
    index.wrapping_mul(4) & length.wrapping_sub(4)
}

#[inline]
fn word(data: &[u8], index: usize) -> u32 {
    data.get(offset(data.len(), index)..)
        .and_then(<[u8]>::first_chunk)
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[inline]
fn set_word(data: &mut [u8], index: usize, value: u32) {
    let offset = offset(data.len(), index);
    if let Some(bytes) = data.get_mut(offset..).and_then(<[u8]>::first_chunk_mut) {
        *bytes = value.to_le_bytes();
    }
}
