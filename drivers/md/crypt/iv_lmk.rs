// SPDX-License-Identifier: GPL-2.0

//! IV mode lmk, of the loop devices with AES by Jari Ruusu: the MD5 state of a sector.
//!
//! Before a write, the IV is [`iv()`] of the plaintext. A read decrypts with an IV of zeros, which
//! gives all but the first block; then [`iv()`] of that is XORed to the first block.

use crate::key::LMK_SEED_SIZE;

/// The bytes at the start of a sector that are not hashed.
pub const SKIPPED: usize = 16;

/// MD5, as far as needed here. `D` is what the caller has a sector's data in.
pub trait Md5<D> {
    /// Adds bytes.
    fn update(&mut self, bytes: &[u8]);

    /// Adds the data of a sector from byte [`SKIPPED`] to its end.
    fn update_data(&mut self, data: D);

    /// The state after a whole number of blocks of 64 bytes; without padding, so it is no digest.
    fn state(self) -> [u32; 4];
}

/// What is hashed after the data: the sector, cut to 56 bits, and the bits of what was hashed.
fn trailer(sector: u64) -> [u8; 16] {
    let [b0, b1, b2, b3, b4, b5, b6, _] = sector.to_le_bytes();
    let [l0, l1, l2, l3] = 4024u32.to_le_bytes();
    [b0, b1, b2, b3, b4, b5, b6, 0x80, l0, l1, l2, l3, 0, 0, 0, 0]
}

/// The IV of a sector of 512 bytes. A cipher with shorter IVs takes the start of it.
pub fn iv<D>(
    seed: Option<&[u8; LMK_SEED_SIZE]>,
    sector: u64,
    data: D,
    mut md5: impl Md5<D>,
) -> [u8; 16] {
    if let Some(seed) = seed {
        md5.update(seed);
        md5.update(&[0; 48]);
    }
    md5.update_data(data);
    md5.update(&trailer(sector));
    let [a, b, c, d] = md5.state().map(u128::from);
    (a | (b << 32) | (c << 64) | (d << 96)).to_le_bytes()
}
