// SPDX-License-Identifier: GPL-2.0

//! The superblock as bytes, and what changes in it: rows I-41 to I-44 and I-76.

use integrity::{
    superblock::{
        mac_range,
        Content,
        Flags,
        Superblock,
        AREA, //
    },
    table::Mode,
};
use proptest::prelude::*;

fn superblock() -> Superblock {
    Superblock {
        version: 5,
        log2_interleave_sectors: 15,
        tag_size: 0x0102,
        journal_sections: 0x0304_0506,
        provided_data_sectors: 0x0708_090a_0b0c_0d0e,
        flags: Flags::from_bits(0x0f10_1112),
        log2_sectors_per_block: 3,
        log2_blocks_per_bitmap_bit: 12,
        recalc_sector: 0x1314_1516_1718_191a,
        salt: *b"abcdefghijklmnop",
    }
}

#[test]
fn each_byte_has_its_place() {
    let mut area = [0xee; AREA];
    superblock().write_to(&mut area);
    let wanted = [
        &b"integrt\0\x05\x0f\x02\x01\x06\x05\x04\x03\x0e\x0d\x0c\x0b\x0a\x09\x08\x07"[..],
        b"\x12\x11\x10\x0f\x03\x0c\xee\xee\x1a\x19\x18\x17\x16\x15\x14\x13",
        b"\xee\xee\xee\xee\xee\xee\xee\xeeabcdefghijklmnop",
    ]
    .concat();
    assert_eq!(area[..64], wanted[..]);
    assert!(area[64..].iter().all(|&byte| byte == 0xee));
    assert_eq!(Content::of(&area), Content::Superblock(superblock()));
}

#[test]
fn what_is_there() {
    let mut area = [0; AREA];
    assert_eq!(Content::of(&area), Content::Blank);
    area[AREA - 1] = 1;
    assert_eq!(Content::of(&area), Content::Foreign);
    area[..8].copy_from_slice(b"integrt ");
    assert_eq!(Content::of(&area), Content::Foreign);
    area[..8].copy_from_slice(b"integrt\0");
    assert!(matches!(Content::of(&area), Content::Superblock(_)));
    // Less than a superblock.
    assert_eq!(Content::of(&area[..63]), Content::Foreign);
}

#[test]
fn versions() {
    let version = |flags, mode, meta_device| {
        let superblock = Superblock {
            flags: Flags::from_bits(flags),
            ..superblock()
        };
        superblock.version_to_write(mode, meta_device)
    };
    assert_eq!(version(0x7f, Mode::Journal, true), 7);
    assert_eq!(version(0x3f, Mode::Inline, true), 6);
    assert_eq!(version(0x1f, Mode::Journal, true), 5);
    assert_eq!(version(0x0f, Mode::Bitmap, true), 4);
    assert_eq!(version(0x04, Mode::Journal, true), 3);
    assert_eq!(version(0x02, Mode::Bitmap, true), 3);
    assert_eq!(version(0x02, Mode::Journal, false), 2);
    assert_eq!(version(0x00, Mode::Direct, true), 2);
    assert_eq!(version(0x01, Mode::Direct, false), 1);
}

#[test]
fn place_of_the_mac() {
    assert_eq!(mac_range(32), Some(480..512));
    assert_eq!(mac_range(64), Some(448..512));
    assert_eq!(mac_range(65), None);
    assert_eq!(mac_range(512), None);
    assert_eq!(mac_range(usize::MAX), None);
}

/// What a resume may find changed, and what not.
#[test]
fn other_volumes() {
    let mine = superblock();
    let differs = |change: &dyn Fn(&mut Superblock)| {
        let mut other = mine;
        change(&mut other);
        mine.is_other_volume(&other)
    };
    let flip = |superblock: &mut Superblock, bit: u32| {
        superblock.flags = Flags::from_bits(superblock.flags.bits() ^ bit);
    };
    assert!(!differs(&|_| {}));
    assert!(!differs(&|s| s.version = 1));
    assert!(!differs(&|s| s.provided_data_sectors = 1));
    assert!(!differs(&|s| s.recalc_sector = 1));
    assert!(!differs(&|s| s.log2_blocks_per_bitmap_bit = 1));
    for bit in [2, 4, 0x40, 0x80] {
        assert!(!differs(&|s| flip(s, bit)));
    }
    for bit in [1, 8, 0x10, 0x20] {
        assert!(differs(&|s| flip(s, bit)));
    }
    assert!(differs(&|s| s.log2_interleave_sectors = 1));
    assert!(differs(&|s| s.tag_size = 1));
    assert!(differs(&|s| s.journal_sections = 1));
    assert!(differs(&|s| s.log2_sectors_per_block = 1));
    assert!(differs(&|s| s.salt[15] = 1));
}

proptest! {
    #[test]
    fn round_trip(bytes in prop::collection::vec(any::<u8>(), 64)) {
        let mut area = vec![0; AREA];
        area[..64].copy_from_slice(&bytes);
        area[..8].copy_from_slice(b"integrt\0");
        let Content::Superblock(superblock) = Content::of(&area) else {
            panic!("no superblock");
        };
        let before = area.clone();
        superblock.write_to(&mut area);
        prop_assert_eq!(area, before);
    }

    #[test]
    fn any_length(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut bytes = bytes;
        let _ = Content::of(&bytes);
        superblock().write_to(&mut bytes);
    }
}
