// SPDX-License-Identifier: GPL-2.0

//! IV mode tcw, of TrueCrypt before version 4.1: IVs and ciphertext are changed with a part of the
//! key and the sector.
//!
//! Ciphertext is XORed with [`whitening`], again and again, after a write and before a read.

use crate::key::TCW_WHITENING_SIZE;

/// Writes an IV: the seed, XORed with the sector every eight bytes.
pub fn iv(seed: &[u8], sector: u64, iv: &mut [u8]) {
    let sector = sector.to_le_bytes();
    let bytes = seed.iter().zip(sector.iter().cycle());
    for (to, (seed, sector)) in iv.iter_mut().zip(bytes) {
        *to = seed ^ sector;
    }
}

/// What each eight bytes of a sector's ciphertext are XORed with.
///
/// `crc32` is the little-endian CRC-32 that starts with zero and is not inverted at the end.
pub fn whitening(
    secret: &[u8; TCW_WHITENING_SIZE],
    sector: u64,
    crc32: impl Fn(&[u8; 4]) -> u32,
) -> [u8; 8] {
    let sector = u128::from(sector);
    let mixed = u128::from_le_bytes(*secret) ^ sector ^ (sector << 64);
    let word = |shift: u32| crc32(&((mixed >> shift) as u32).to_le_bytes());
    let low = word(0) ^ word(96);
    let high = word(32) ^ word(64);
    (u64::from(low) | (u64::from(high) << 32)).to_le_bytes()
}

/// XORs data with [`whitening`] from its start.
pub fn whiten(data: &mut [u8], whitening: &[u8; 8]) {
    for chunk in data.chunks_exact_mut(8) {
        chunk
            .iter_mut()
            .zip(whitening)
            .for_each(|(byte, whitening)| *byte ^= whitening);
    }
}
