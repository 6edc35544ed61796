// SPDX-License-Identifier: GPL-2.0

//! The formulas of IV modes one by one, and the way back: rows C-15 and C-42 to C-52.

mod support;

use crypt::{
    iv::{
        eboiv_block,
        Attributes,
        Counter,
        Generator,
        Mode,
        Secret, //
    },
    iv_elephant, iv_lmk, iv_tcw,
    key::KeyLayout,
    options::SectorSize,
};
use md5::{
    Digest,
    Md5, //
};
use proptest::prelude::*;
use support::*;

const SECTOR: u64 = 0x0102_0304_0506_0708;

fn written(counter: Counter, size: usize) -> Vec<u8> {
    let mut iv = vec![0xff; size];
    counter.write(SECTOR, &mut iv);
    iv
}

#[test]
fn counters() {
    let little = [8, 7, 6, 5, 4, 3, 2, 1];
    let big = [1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(
        written(Counter::Plain, 16),
        [&[8, 7, 6, 5][..], &[0; 12]].concat()
    );
    assert_eq!(written(Counter::Plain64, 16), [little, [0; 8]].concat());
    assert_eq!(written(Counter::Plain64be, 16), [[0; 8], big].concat());
    assert_eq!(written(Counter::Null, 16), [0; 16]);
    // Block 1 of sector 0 is the first; 32 blocks of 16 bytes, 64 of 8.
    let mut block = Counter::Benbi { shift: 5 }.block(0);
    assert_eq!(block, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    block = Counter::Benbi { shift: 6 }.block(2);
    assert_eq!(block[14..], [0, 129]);
    // What is shifted out is lost.
    assert_eq!(
        Counter::Benbi { shift: 9 }.block(1 << 55),
        Counter::Benbi { shift: 9 }.block(0)
    );
    // Ciphers with other IVs.
    assert_eq!(written(Counter::Plain64, 8), little);
    assert_eq!(written(Counter::Plain64be, 8), big);
    assert_eq!(
        written(Counter::Plain64be, 12),
        [&[0; 4][..], &big].concat()
    );
    assert_eq!(
        written(Counter::Plain64be, 32),
        [&[0; 24][..], &big].concat()
    );
    assert_eq!(written(Counter::Plain, 8), [8, 7, 6, 5, 0, 0, 0, 0]);
}

#[test]
fn byte_offsets() {
    let mut block = [0xff; 16];
    let size = |bytes| SectorSize::from_bytes(bytes).unwrap();
    eboiv_block(0x0102, size(512), &mut block);
    assert_eq!(block, [0, 4, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    eboiv_block(1 << 60, size(4096), &mut block);
    assert_eq!(block, [0; 16]);
}

#[test]
fn md5_of_the_support() {
    for length in [0, 1, 55, 56, 64, 500] {
        let message: Vec<u8> = (0..length).map(|n| n as u8).collect();
        let mut state = Md5State::default();
        state.add(&message);
        let expected: [u8; 16] = Md5::digest(&message).into();
        assert_eq!(state.digest(length), expected);
    }
}

/// CRC-32 of the support is that of a polynomial: one bit is the polynomial, shifted.
#[test]
fn crc32_of_the_support() {
    assert_eq!(crc32(&[0; 4]), 0);
    assert_eq!(crc32(&[0, 0, 0, 0x80]), 0xedb8_8320);
    let [a, b] = [[1, 2, 3, 4], [0x10, 0x20, 0x30, 0x40]];
    let both: [u8; 4] = std::array::from_fn(|index| a[index] ^ b[index]);
    assert_eq!(crc32(&both), crc32(&a) ^ crc32(&b));
}

#[test]
fn lmk_is_md5_without_padding() {
    let data: Vec<u8> = (0..512).map(|n| (n % 253) as u8).collect();
    let seed: [u8; 16] = std::array::from_fn(|index| index as u8);
    for seed in [None, Some(&seed)] {
        let iv = iv_lmk::iv(seed, SECTOR, &data[..], Md5State::default());
        let mut message = Vec::new();
        if let Some(seed) = seed {
            message.extend(seed);
            message.extend([0; 48]);
        }
        message.extend(&data[16..]);
        // 56 bits of the sector, one bit, and the length in bits.
        message.extend([8, 7, 6, 5, 4, 3, 2, 0x80, 0xb8, 0x0f, 0, 0, 0, 0, 0, 0]);
        assert_eq!(message.len() % 64, 0);
        let mut state = Md5State::default();
        state.add(&message);
        let expected: Vec<u8> = iv_lmk::Md5::<&[u8]>::state(state)
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        assert_eq!(iv[..], expected);
        // The highest byte of the sector does not count.
        let other = iv_lmk::iv(seed, SECTOR | (0xff << 56), &data[..], Md5State::default());
        assert_eq!(iv, other);
    }
}

/// What a read does: all blocks but the first come out of CBC with any IV.
#[test]
fn lmk_is_read_back() {
    let aes = Aes::new(&[7; 16]);
    let plain: Vec<u8> = (0..512).map(|n| (n * 3 % 251) as u8).collect();
    let mut data = plain.clone();
    cbc_encrypt(
        &aes,
        iv_lmk::iv(None, 9, &plain[..], Md5State::default()),
        &mut data,
    );
    cbc_decrypt(&aes, [0; 16], &mut data);
    assert_ne!(data, plain);
    let iv = iv_lmk::iv(None, 9, &data[..], Md5State::default());
    for (byte, iv) in data.iter_mut().zip(iv) {
        *byte ^= iv;
    }
    assert_eq!(data, plain);
}

#[test]
fn tcw_by_hand() {
    let seed: Vec<u8> = (0x10..0x20).collect();
    let mut iv = [0; 16];
    iv_tcw::iv(&seed, SECTOR, &mut iv);
    for (index, byte) in iv.iter().enumerate() {
        assert_eq!(byte ^ seed[index], 8 - (index % 8) as u8);
    }
    let mut short = [0; 8];
    iv_tcw::iv(&seed[..8], SECTOR, &mut short);
    assert_eq!(short, iv[..8]);

    let secret: [u8; 16] = std::array::from_fn(|index| (index * 16 + 1) as u8);
    let mut mixed = secret;
    for (index, byte) in mixed.iter_mut().enumerate() {
        *byte ^= SECTOR.to_le_bytes()[index % 8];
    }
    let words: Vec<u32> = mixed
        .chunks(4)
        .map(|word| crc32(word.try_into().unwrap()))
        .collect();
    let expected = [words[0] ^ words[3], words[1] ^ words[2]].map(u32::to_le_bytes);
    let whitening = iv_tcw::whitening(&secret, SECTOR, crc32);
    assert_eq!(whitening[..], expected.concat());
    let mut data: Vec<u8> = (0..=255).collect();
    iv_tcw::whiten(&mut data, &whitening);
    assert_eq!(
        data[..8],
        std::array::from_fn::<u8, 8, _>(|n| n as u8 ^ whitening[n])
    );
    iv_tcw::whiten(&mut data, &whitening);
    assert_eq!(data, (0..=255).collect::<Vec<u8>>());
}

#[test]
fn keys_of_elephant() {
    let size = SectorSize::from_bytes(1024).unwrap();
    let mut asked = Vec::new();
    let key = iv_elephant::sector_key(3, size, |block| {
        asked.push(*block);
        std::array::from_fn(|index| block[index] ^ 0x11)
    });
    let first = [0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut second = first;
    second[15] = 0x80;
    assert_eq!(asked, [first, second]);
    let expected: Vec<u8> = [first, second]
        .concat()
        .iter()
        .map(|byte| byte ^ 0x11)
        .collect();
    assert_eq!(key[..], expected);
}

/// The diffusers as in the paper: sums over a ring of words.
fn diffuse(words: &mut [u32], step: isize, rounds: usize, rotations: [u32; 4]) {
    let count = words.len() as isize;
    for _ in 0..rounds {
        for index in 0..count {
            let at = |steps: isize| words[((index + step * steps + count) % count) as usize];
            let second = at(5).rotate_left(rotations[(index % 4) as usize]);
            let sum = words[index as usize].wrapping_add(at(2) ^ second);
            words[index as usize] = sum;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn elephant_as_in_the_paper(seed: u64, key: [u8; 32], shift in 0..4u32) {
        let mut state = seed;
        let data: Vec<u8> = (0..512usize << shift)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let mut words: Vec<u32> = data
            .chunks(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        diffuse(&mut words, 1, 3, [0, 10, 0, 25]);
        diffuse(&mut words, -1, 5, [9, 0, 13, 0]);
        let mut expected: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        for (byte, key) in expected.iter_mut().zip(key.iter().cycle()) {
            *byte ^= key;
        }
        let mut seen = data.clone();
        iv_elephant::decrypt(&mut seen, &key);
        prop_assert_eq!(&seen, &expected);
        iv_elephant::encrypt(&mut seen, &key);
        prop_assert_eq!(&seen, &data);
    }

    #[test]
    fn blocks_are_what_is_written(sector: u64, shift in 0..10u32) {
        for counter in [
            Counter::Plain,
            Counter::Plain64,
            Counter::Plain64be,
            Counter::Benbi { shift },
            Counter::Null,
        ] {
            let mut iv = [0xff; 16];
            counter.write(sector, &mut iv);
            prop_assert_eq!(iv, counter.block(sector));
        }
    }
}

fn attributes() -> Attributes {
    Attributes {
        aead: false,
        block_size: 16,
        iv_size: 16,
        sector_size: SectorSize::SMALL,
        fips: false,
    }
}

#[test]
fn shifts_of_benbi() {
    let shift = |block_size| {
        let attributes = Attributes {
            block_size,
            ..attributes()
        };
        match Generator::new(Mode::Benbi, &attributes, &KeyLayout::new(16, 1, 0, false)) {
            Ok(Generator::Counter(Counter::Benbi { shift })) => Ok(shift),
            Ok(other) => panic!("{other:?}"),
            Err(text) => Err(text.to_str().unwrap()),
        }
    };
    assert_eq!([1, 8, 16, 512].map(shift), [9, 6, 5, 0].map(Ok));
    assert_eq!(shift(1024), Err("cypher blocksize is > 512"));
    assert_eq!(shift(24), Err("cypher blocksize is not a power of 2"));
    assert_eq!(shift(0), Err("cypher blocksize is not a power of 2"));
}

#[test]
fn parts_of_keys() {
    let key: Vec<u8> = (0..=255).collect();
    let secret = |mode, size: usize, transforms, iv_size| {
        let mut layout = KeyLayout::new(size as u32, transforms, 0, false);
        layout.reserve(mode, iv_size).unwrap();
        let attributes = Attributes {
            iv_size,
            ..attributes()
        };
        let generator = Generator::new(mode, &attributes, &layout).unwrap();
        match generator.secret(&layout, &key[..size], iv_size) {
            Ok(Secret::None) => Ok(Vec::new()),
            Ok(Secret::Lmk(seed)) => Ok(seed.to_vec()),
            Ok(Secret::Tcw { seed, whitening }) => {
                assert_eq!(seed.len(), iv_size as usize);
                Ok([seed, whitening].concat())
            }
            Ok(Secret::Elephant(key)) => Ok(key.to_vec()),
            Err(errno) => Err(errno.number()),
        }
    };
    let range = |from: u8, to: u8| Ok((from..to).collect());
    assert_eq!(secret(Mode::Plain, 32, 1, 16), range(0, 0));
    assert_eq!(secret(Mode::Lmk, 64, 4, 16), range(0, 0));
    assert_eq!(secret(Mode::Lmk, 80 + 1, 4, 16), range(64, 80));
    assert_eq!(secret(Mode::Lmk, 81, 2, 16), range(54, 70));
    assert_eq!(secret(Mode::Lmk, 41, 4, 16), Err(22));
    assert_eq!(secret(Mode::Tcw, 64, 1, 16), range(32, 64));
    assert_eq!(secret(Mode::Tcw, 48, 1, 8), range(24, 48));
    assert_eq!(secret(Mode::Elephant, 64, 1, 16), range(32, 64));
    assert_eq!(secret(Mode::Elephant, 49, 1, 16), range(25, 49));
}
