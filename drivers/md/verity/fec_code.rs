// SPDX-License-Identifier: GPL-2.0

//! The arithmetic of parity, for forward error correction.
//!
//! A byte is an element of GF(256) with the polynomial x^8 + x^4 + x^3 + x^2 + 1, and `a`, the
//! element 2, generates all but zero. The message bytes of a codeword are the coefficients of a
//! polynomial, the first byte that of the highest power. Its parity makes it a multiple of the
//! generator, the product of (x - a^i) for `i` from 0 to `roots - 1`: so parity is the *remainder*
//! of the message, shifted by `roots`, divided by the generator.
//!
//! To repair a block, as many codewords are needed as it has bytes. Here they are computed side by
//! side, a message block at a time: a [`Code`] keeps nothing of each codeword but the remainder of
//! what it has seen, and in the end what distinguishes it from the parity on the device. Where the
//! two are equal, the codeword is good. Only of the others are *syndromes* computed, the values at
//! the roots of the generator, from which the decoder finds the errors. Compared with collecting
//! the codewords first, this needs a tenth of the memory, and a good codeword costs nearly nothing.

use core::ops::DerefMut;

/// The most parity bytes that a codeword may have here.
pub const MAX_PARITY: usize = 24;

/// The words that hold the most parity bytes.
const MAX_WORDS: usize = MAX_PARITY / size_of::<u64>();

/// The field polynomial without its highest power.
const POLYNOMIAL: u8 = 0x1d;

/// The non-zero elements.
const NON_ZERO: u16 = 255;

/// The logarithm of zero, which has none, as the kernel's decoder wants it.
pub const LOG_ZERO: u16 = NON_ZERO;

/// Returns 2 times an element.
const fn double(element: u8) -> u8 {
    let carry = if element & 0x80 != 0 { POLYNOMIAL } else { 0 };
    (element << 1) ^ carry
}

/// The product of two elements.
const fn multiply(a: u8, b: u8) -> u8 {
    let (mut product, mut a, mut b) = (0, a, b);
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = double(a);
        b >>= 1;
    }
    product
}

/// The logarithms to the base 2 of all elements.
static LOGARITHMS: [u16; 256] = {
    let mut logarithms = [LOG_ZERO; 256];
    let (mut power, mut log) = (1u8, 0);
    while log < NON_ZERO {
        if let Some((_, rest)) = logarithms.split_at_mut_checked(power as usize) {
            if let Some((entry, _)) = rest.split_first_mut() {
                *entry = log;
            }
        }
        power = double(power);
        log += 1;
    }
    logarithms
};

/// Returns the logarithm of an element, [`LOG_ZERO`] for zero.
#[inline]
pub fn logarithm(element: u8) -> u16 {
    // A byte is always an index of the table.
    LOGARITHMS
        .get(usize::from(element))
        .map_or(LOG_ZERO, |&log| log)
}

/// The rows of the table of a [`Code`].
pub const ROWS: usize = 256;

/// A row of that table: bytes that are packed into words, the first byte highest.
pub type Row = [u64; MAX_WORDS];

/// A code with some number of parity bytes.
///
/// # Invariants
///
/// `roots` is from 1 to [`MAX_PARITY`]. In row `b`, `rows` has `b` times the generator without its
/// highest coefficient: `roots` bytes and then zeros.
pub struct Code<R> {
    rows: R,
    roots: u8,
}

/// What was seen of the codewords side by side: see [`Code::words`].
type Remainders = [u64];

impl<R: DerefMut<Target = [Row]>> Code<R> {
    /// Makes the code with so many parity bytes in `rows`, which is memory for [`ROWS`].
    ///
    /// Returns [`None`] if `roots` is not from 1 to [`MAX_PARITY`].
    pub fn new(roots: u8, mut rows: R) -> Option<Self> {
        if roots == 0 || usize::from(roots) > MAX_PARITY {
            return None;
        }
        let generator = generator(roots);
        for (factor, row) in (0..=u8::MAX).zip(rows.first_chunk_mut::<ROWS>()?) {
            *row = pack(generator.map(|coefficient| multiply(coefficient, factor)));
        }
        // INVARIANT: `generator` has zeros after its `roots` coefficients, and so have its
        // multiples.
        Some(Self { rows, roots })
    }

    /// The parity bytes of a codeword.
    #[inline]
    pub fn roots(&self) -> u8 {
        self.roots
    }

    /// The words of remainder that a codeword needs. The remainders of codewords side by side
    /// follow each other. All words are zero at first.
    #[inline]
    pub fn words(&self) -> usize {
        usize::from(self.roots).div_ceil(size_of::<u64>())
    }

    /// Goes on with the next message byte of each codeword.
    pub fn message(&self, remainders: &mut Remainders, bytes: &[u8]) {
        // The loop over words is unrolled.
        match self.words() {
            1 => self.fold::<1>(remainders, bytes.iter().copied()),
            2 => self.fold::<2>(remainders, bytes.iter().copied()),
            _ => self.fold::<MAX_WORDS>(remainders, bytes.iter().copied()),
        }
    }

    /// Goes on with a message byte of zero in each codeword.
    pub fn message_zero(&self, remainders: &mut Remainders) {
        let zeros = core::iter::repeat(0);
        match self.words() {
            1 => self.fold::<1>(remainders, zeros),
            2 => self.fold::<2>(remainders, zeros),
            _ => self.fold::<MAX_WORDS>(remainders, zeros),
        }
    }

    #[inline]
    fn fold<const WORDS: usize>(
        &self,
        remainders: &mut Remainders,
        bytes: impl Iterator<Item = u8>,
    ) {
        // The sizes of all arrays are known, so that nothing is left of the checks.
        let Some(rows) = self.rows.first_chunk::<ROWS>() else {
            return;
        };
        for (remainder, byte) in remainders.chunks_exact_mut(WORDS).zip(bytes) {
            let Some(remainder) = remainder.first_chunk_mut::<WORDS>() else {
                return;
            };
            let highest = remainder.first().map_or(0, |word| top_byte(*word) as u8);
            let Some(row) = rows.get(usize::from(highest ^ byte)) else {
                return;
            };
            let mut carry = 0;
            for (word, row) in remainder.iter_mut().zip(row).rev() {
                let next = top_byte(*word);
                *word = ((*word << 8) | carry) ^ row;
                carry = next;
            }
        }
    }

    /// Takes away the parity on the device, in order: all of the first codeword's, all of the
    /// second's, and so on. `at` says how many bytes of it were taken away already.
    pub fn parity(&self, remainders: &mut Remainders, at: usize, bytes: &[u8]) {
        let (words, roots) = (self.words(), usize::from(self.roots));
        let Some(mut byte) = at.checked_rem(roots) else {
            return;
        };
        let rest = at
            .checked_div(roots)
            .and_then(|codeword| codeword.checked_mul(words))
            .and_then(|word| remainders.get_mut(word..))
            .unwrap_or_default();
        let mut bytes = bytes.iter();
        for remainder in rest.chunks_exact_mut(words.max(1)) {
            for byte in byte..roots {
                let Some(&parity) = bytes.next() else {
                    return;
                };
                xor_byte(remainder, byte, parity);
            }
            byte = 0;
        }
    }

    /// Returns the logarithms of the syndromes of a codeword, of which `remainder` is what is left
    /// when the parity was taken away. Those after the first `roots` mean nothing.
    pub fn syndromes(&self, remainder: &Remainders) -> [u16; MAX_PARITY] {
        let mut syndromes = [LOG_ZERO; MAX_PARITY];
        let mut root = 1;
        for syndrome in syndromes.iter_mut().take(self.roots.into()) {
            let coefficients = remainder.iter().flat_map(|word| word.to_be_bytes());
            let value = coefficients
                .take(self.roots.into())
                .fold(0, |value, coefficient| multiply(value, root) ^ coefficient);
            *syndrome = logarithm(value);
            root = double(root);
        }
        syndromes
    }
}

/// Returns the coefficients of the generator but the highest, which is 1, the highest first, and
/// zeros after them.
fn generator(roots: u8) -> [u8; MAX_PARITY] {
    // All coefficients, the highest first. Times (x - a^i): the old ones, and to each the one
    // before it times a^i.
    let mut product = [0; MAX_PARITY + 1];
    product[0] = 1;
    let mut root = 1;
    for _ in 0..roots {
        let mut before = 0;
        for coefficient in &mut product {
            let old = *coefficient;
            *coefficient = old ^ multiply(before, root);
            before = old;
        }
        root = double(root);
    }
    let mut rest = [0; MAX_PARITY];
    for (to, from) in rest.iter_mut().zip(product.iter().skip(1)) {
        *to = *from;
    }
    rest
}

fn pack(bytes: [u8; MAX_PARITY]) -> Row {
    let mut packed = [0; MAX_WORDS];
    for (position, byte) in bytes.into_iter().enumerate() {
        xor_byte(&mut packed, position, byte);
    }
    packed
}

/// Adds to one byte of some words.
#[inline]
fn xor_byte(words: &mut [u64], position: usize, byte: u8) {
    if let Some(word) = words.get_mut(position / 8) {
        let above = (position % 8) as u32;
        *word ^= (u64::from(byte) << 56).wrapping_shr(above.wrapping_mul(8));
    }
}

#[inline]
const fn top_byte(word: u64) -> u64 {
    word >> 56
}
