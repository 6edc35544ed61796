// SPDX-License-Identifier: GPL-2.0

//! The code of parity against an encoder by somebody else: row V-75.

use proptest::prelude::*;
use reed_solomon::Encoder;
use verity::fec_code::{
    logarithm,
    Code,
    Row,
    LOG_ZERO,
    ROWS, //
};

fn code(roots: u8) -> Code<Vec<Row>> {
    Code::new(roots, vec![Row::default(); ROWS]).unwrap()
}

/// Not random, but no two codewords are the same.
fn message(codeword: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (i * i * 5 + i * 11 + codeword * 37 + codeword * i / 3) as u8)
        .collect()
}

/// Multiplies as one learns it: the product of polynomials, and its remainder.
fn product(a: u8, b: u8) -> u8 {
    let mut product = (0..8)
        .filter(|&bit| (b >> bit) & 1 == 1)
        .fold(0, |sum, bit| sum ^ (u16::from(a) << bit));
    for bit in (8..16).rev() {
        if (product >> bit) & 1 == 1 {
            product ^= 0x11d << (bit - 8);
        }
    }
    product as u8
}

fn power(exponent: usize) -> u8 {
    (0..exponent).fold(1, |power, _| product(power, 2))
}

/// The logarithms of the values of a codeword at the roots of the generator.
fn syndromes(codeword: &[u8], roots: u8) -> Vec<u16> {
    (0..roots)
        .map(|root| {
            let at = power(root.into());
            logarithm(codeword.iter().fold(0, |value, &c| product(value, at) ^ c))
        })
        .collect()
}

/// Codewords side by side: what is left of each, which are read a byte of each at a time.
fn remainders(code: &Code<Vec<Row>>, codewords: &[Vec<u8>], chunk: usize) -> Vec<u64> {
    let message_length = 255 - usize::from(code.roots());
    let mut remainders = vec![0; codewords.len() * code.words()];
    for i in 0..message_length {
        let bytes: Vec<u8> = codewords.iter().map(|codeword| codeword[i]).collect();
        match bytes.iter().all(|&byte| byte == 0) {
            true => code.message_zero(&mut remainders),
            false => code.message(&mut remainders, &bytes),
        }
    }
    let parity: Vec<u8> = codewords
        .iter()
        .flat_map(|codeword| &codeword[message_length..])
        .copied()
        .collect();
    for (number, bytes) in parity.chunks(chunk).enumerate() {
        code.parity(&mut remainders, number * chunk, bytes);
    }
    remainders
}

fn encode(roots: u8, codeword: usize) -> Vec<u8> {
    let length = 255 - usize::from(roots);
    let encoder = Encoder::new(roots.into());
    encoder.encode(&message(codeword, length)).to_vec()
}

#[test]
fn logarithms() {
    assert_eq!(logarithm(0), LOG_ZERO);
    for log in 0..255u16 {
        assert_eq!(logarithm(power(log.into())), log);
    }
}

#[test]
fn numbers_of_roots() {
    assert!(Code::new(0, vec![Row::default(); ROWS]).is_none());
    assert!(Code::new(2, vec![Row::default(); ROWS - 1]).is_none());
    assert!(Code::new(25, vec![Row::default(); ROWS]).is_none());
    for roots in 1..=24 {
        let code = code(roots);
        assert_eq!(code.roots(), roots);
        assert_eq!(code.words(), usize::from(roots).div_ceil(8));
    }
}

#[test]
fn nothing_is_left_of_good_codewords() {
    for roots in 2..=24 {
        let code = code(roots);
        let mut codewords: Vec<Vec<u8>> = (0..50).map(|n| encode(roots, n)).collect();
        codewords.push(vec![0; 255]);
        // Chunks which cut the parity of a codeword at each of its bytes.
        for chunk in [1, 7, 16, 25, 4096] {
            let left = remainders(&code, &codewords, chunk);
            assert!(left.iter().all(|&word| word == 0), "{roots} {chunk}");
        }
    }
}

#[test]
fn zero_messages() {
    let code = code(20);
    let left = remainders(&code, &[vec![0; 255], vec![0; 255]], 4096);
    assert!(left.iter().all(|&word| word == 0));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn damaged_codewords(
        roots in 2..=24u8,
        chunk in 1..100usize,
        damage in prop::collection::vec((0..20usize, 0..255usize, 1..=255u8), 0..60),
    ) {
        let code = code(roots);
        let good: Vec<Vec<u8>> = (0..20).map(|n| encode(roots, n)).collect();
        let mut bad = good.clone();
        for (codeword, position, change) in damage {
            bad[codeword][position] ^= change;
        }
        let left = remainders(&code, &bad, chunk);
        for ((left, good), bad) in left.chunks(code.words()).zip(&good).zip(&bad) {
            let found = code.syndromes(left)[..roots.into()].to_vec();
            prop_assert_eq!(&found, &syndromes(bad, roots));
            prop_assert_eq!(left.iter().all(|&word| word == 0), good == bad);
        }
    }

    /// One error can be found by hand: the quotient of two syndromes tells where it is.
    #[test]
    fn one_error(roots in 2..=24u8, position in 0..255usize, change in 1..=255u8) {
        let code = code(roots);
        let mut codeword = encode(roots, 5);
        codeword[position] ^= change;
        let left = remainders(&code, &[codeword], 4096);
        let found = code.syndromes(&left);
        prop_assert_eq!(found[0], logarithm(change));
        let place = (found[1] + 255 - found[0]) % 255;
        prop_assert_eq!(usize::from(place), 254 - position);
    }
}
