// SPDX-License-Identifier: GPL-2.0

//! The parity of whole devices against what `veritysetup format --fec-device` writes: row V-75.

use std::{
    fs,
    path::PathBuf,
    process::Command, //
};

use verity::{
    fec_code::{
        Code,
        Row,
        ROWS, //
    },
    fec_layout::{
        FecLayout,
        Member,
        Parity, //
    },
    hash_tree::{
        BlockSize,
        Geometry,
        Sizes,
        Version, //
    },
    report::{
        BlockKind,
        Corruption, //
    },
};

/// What was formatted.
struct Image {
    block_size: usize,
    data: Vec<u8>,
    hash: Vec<u8>,
    fec: Vec<u8>,
    layout: FecLayout,
}

fn format(roots: u8, data_blocks: u64, block_size: u32) -> Image {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("fec-{roots}-{data_blocks}-{block_size}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| folder.join(name);
    let data: Vec<u8> = (0..data_blocks as usize * block_size as usize)
        .map(|i| (i * 7 + i / 251 * 13 + i / 4096 * 29) as u8)
        .collect();
    fs::write(file("data"), &data).unwrap();
    let output = Command::new("veritysetup")
        .args(["format", "--hash=sha256", "--salt=0102"])
        .args([file("data"), file("hash")])
        .arg(format!("--fec-device={}", file("fec").display()))
        .arg(format!("--fec-roots={roots}"))
        .arg(format!("--data-block-size={block_size}"))
        .arg(format!("--hash-block-size={block_size}"))
        .output()
        .expect("veritysetup is needed, as in the build root");
    assert!(output.status.success(), "{output:?}");
    let (hash, fec) = (
        fs::read(file("hash")).unwrap(),
        fs::read(file("fec")).unwrap(),
    );
    fs::remove_dir_all(&folder).unwrap();
    let block = BlockSize::from_bytes(block_size).unwrap();
    let sizes = Sizes {
        data_blocks,
        data_block: block,
        hash_block: block,
        hash_start: 1,
        digest_size: 32,
    };
    let tree = Geometry::new(Version::Current, &sizes).unwrap();
    let parity = Parity {
        device: Some(()),
        // All of the hash device but the superblock.
        blocks: data_blocks + hash.len() as u64 / u64::from(block_size) - 1,
        start: 0,
        roots,
    };
    Image {
        block_size: block_size as usize,
        data,
        hash,
        fec,
        layout: FecLayout::new(&parity, &tree).unwrap(),
    }
}

impl Image {
    fn block(bytes: &[u8], block: u64, block_size: usize) -> &[u8] {
        &bytes[block as usize * block_size..][..block_size]
    }

    /// Checks that all parity is that of the message, and returns how many blocks were covered.
    fn check(&self) -> u64 {
        let (layout, size) = (&self.layout, self.block_size);
        let code = Code::new(layout.roots(), vec![Row::default(); ROWS]).unwrap();
        let mut covered = 0;
        for index in 0..layout.region_blocks() {
            let mut remainders = vec![0; size * code.words()];
            for region in 0..layout.regions() {
                let (bytes, target) = match layout.member(region, index) {
                    Member::Data(block) => (
                        Self::block(&self.data, block, size),
                        Corruption {
                            kind: BlockKind::Data,
                            block,
                        },
                    ),
                    Member::Hash(block) => (
                        Self::block(&self.hash, block, size),
                        Corruption {
                            kind: BlockKind::Metadata,
                            block,
                        },
                    ),
                    Member::Zeros => {
                        code.message_zero(&mut remainders);
                        continue;
                    }
                };
                let place = layout.place(target).unwrap();
                assert_eq!((place.region, place.index), (region, index));
                code.message(&mut remainders, bytes);
                covered += 1;
            }
            let parity = layout.parity(index);
            for (number, block) in (parity.first..).take(parity.count as usize).enumerate() {
                let bytes = Self::block(&self.fec, block, size);
                code.parity(&mut remainders, number * size, bytes);
            }
            assert!(
                remainders.iter().all(|&word| word == 0),
                "roots {}, index {index}",
                layout.roots()
            );
        }
        covered
    }
}

#[test]
fn all_roots() {
    for roots in 2..=24 {
        // More than one block in each region, and one of the last regions is not full.
        let image = format(roots, 300, 512);
        assert_eq!(image.layout.region_blocks(), 2);
        assert_eq!(image.check(), image.layout.blocks(), "{roots}");
        let parity = image.layout.region_blocks() * u64::from(roots);
        assert_eq!(image.fec.len() as u64, parity * 512);
    }
}

#[test]
fn block_sizes() {
    for (roots, blocks, size) in [(2, 8, 4096), (20, 8, 4096), (17, 600, 1024), (24, 40, 2048)] {
        let image = format(roots, blocks, size);
        assert_eq!(image.check(), image.layout.blocks(), "{roots} {size}");
    }
}

#[test]
fn what_is_covered() {
    let image = format(2, 300, 512);
    let place = |kind, block| image.layout.place(Corruption { kind, block });
    let hash_blocks = image.layout.hash_blocks();
    assert!(place(BlockKind::Data, 299).is_some());
    assert_eq!(place(BlockKind::Metadata, 0), None);
    assert!(place(BlockKind::Metadata, 1).is_some());
    assert!(place(BlockKind::Metadata, hash_blocks).is_some());
    assert_eq!(place(BlockKind::Metadata, hash_blocks + 1), None);
    assert_eq!(place(BlockKind::Metadata, u64::MAX), None);
    assert_eq!(place(BlockKind::Data, u64::MAX), None);
}
