// SPDX-License-Identifier: GPL-2.0

//! Whole trees, built by the geometry, against those that `veritysetup format` writes: rows V-70 to
//! V-74.

use std::{
    env, fs,
    path::PathBuf,
    process::{
        self,
        Command, //
    },
    sync::atomic::{
        AtomicU32,
        Ordering, //
    },
};

use digest::{
    Digest,
    DynDigest, //
};
use verity::hash_tree::{
    BlockSize,
    Geometry,
    Sizes,
    Version, //
};

/// A tree to build.
struct Case {
    version: Version,
    hash: &'static str,
    data_block: u32,
    hash_block: u32,
    data_blocks: u64,
    salt: Vec<u8>,
    superblock: bool,
}

fn hasher(name: &str) -> Box<dyn DynDigest> {
    match name {
        "md5" => Box::new(md5::Md5::new()),
        "sha1" => Box::new(sha1::Sha1::new()),
        "sha224" => Box::new(sha2::Sha224::new()),
        "sha256" => Box::new(sha2::Sha256::new()),
        "sha384" => Box::new(sha2::Sha384::new()),
        "sha512" => Box::new(sha2::Sha512::new()),
        _ => unreachable!(),
    }
}

/// A folder that no other test has.
fn new_folder() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);

    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("rdm-veritysetup-{}-{number}", process::id());
    let folder = env::temp_dir().join(name);
    fs::create_dir(&folder).unwrap();
    folder
}

impl Case {
    fn hash(&self, block: &[u8]) -> Vec<u8> {
        let mut hasher = hasher(self.hash);
        let (first, second) = match self.version {
            Version::ChromiumOs => (block, &self.salt[..]),
            Version::Current => (&self.salt[..], block),
        };
        hasher.update(first);
        hasher.update(second);
        hasher.finalize().to_vec()
    }

    fn geometry(&self) -> Geometry {
        let sizes = Sizes {
            data_blocks: self.data_blocks,
            data_block: BlockSize::from_bytes(self.data_block).unwrap(),
            hash_block: BlockSize::from_bytes(self.hash_block).unwrap(),
            // The superblock takes 512 bytes, and the tree starts at the next block.
            hash_start: u64::from(self.superblock),
            digest_size: hasher(self.hash).output_size() as u32,
        };
        Geometry::new(self.version, &sizes).unwrap()
    }

    /// Not random, but no two blocks are the same, and one is of zeros.
    fn data(&self) -> Vec<u8> {
        let length = self.data_blocks as usize * self.data_block as usize;
        let mut data: Vec<u8> = (0..length).map(|i| (i * 7 + i / 251 * 13) as u8).collect();
        for (number, block) in data.chunks_mut(self.data_block as usize).enumerate() {
            block[..8].copy_from_slice(&number.to_le_bytes());
            if number == 3 {
                block.fill(0);
            }
        }
        data
    }

    /// The hash device up to the end of the tree, and the root digest.
    fn build(&self, data: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let tree = self.geometry();
        let block_size = self.hash_block as usize;
        let mut image = vec![0; tree.hash_end() as usize * block_size];
        let mut digests: Vec<Vec<u8>> = data
            .chunks(self.data_block as usize)
            .map(|block| self.hash(block))
            .collect();
        for level in 0..tree.levels() {
            // One digest for each block of the level below, the first data block below which is:
            let first = |index: usize| (index as u64) << (tree.slot_bits() * level);
            for (index, digest) in digests.iter().enumerate() {
                let position = tree.position(level, first(index)).unwrap();
                let at = position.hash_block as usize * block_size + position.offset as usize;
                assert!(image[at..at + digest.len()].iter().all(|&byte| byte == 0));
                image[at..at + digest.len()].copy_from_slice(digest);
            }
            let start = tree.level_start(level).unwrap() as usize;
            let blocks = digests.len().div_ceil(1 << tree.slot_bits());
            digests = image[start * block_size..][..blocks * block_size]
                .chunks(block_size)
                .map(|block| self.hash(block))
                .collect();
        }
        assert_eq!(digests.len(), 1);
        (image, digests.remove(0))
    }

    fn salt(&self) -> String {
        match self.salt.len() {
            0 => "-".into(),
            _ => hex(&self.salt),
        }
    }

    fn describe(&self) -> String {
        format!(
            "{}-{}-{}-{}-{}-{}-{}",
            self.version.number(),
            self.hash,
            self.data_block,
            self.hash_block,
            self.data_blocks,
            self.salt.len(),
            self.superblock
        )
    }

    /// Has veritysetup write the hash device, and returns it and the root digest.
    fn format(&self, data: &[u8]) -> (Vec<u8>, String) {
        let folder = new_folder();
        let (data_file, hash_file) = (folder.join("data"), folder.join("hash"));
        fs::write(&data_file, data).unwrap();
        let mut command = Command::new("veritysetup");
        command.arg("format").arg(&data_file).arg(&hash_file).args([
            &format!("--hash={}", self.hash),
            &format!("--format={}", self.version.number()),
            &format!("--data-block-size={}", self.data_block),
            &format!("--hash-block-size={}", self.hash_block),
            &format!("--salt={}", self.salt()),
        ]);
        if !self.superblock {
            command.arg("--no-superblock");
        }
        let output = command
            .output()
            .expect("veritysetup is needed, as in the build root");
        assert!(output.status.success(), "{}: {output:?}", self.describe());
        let text = String::from_utf8(output.stdout).unwrap();
        let root = text
            .lines()
            .find_map(|line| line.strip_prefix("Root hash:"))
            .unwrap();
        let root = root.trim().to_string();
        let image = fs::read(&hash_file).unwrap_or_default();
        fs::remove_dir_all(&folder).unwrap();
        (image, root)
    }

    fn check(&self) {
        let data = self.data();
        let (image, root) = self.build(&data);
        let (formatted, formatted_root) = self.format(&data);
        assert_eq!(hex(&root), formatted_root, "{}", self.describe());
        let tree = self.geometry().hash_start() as usize * self.hash_block as usize;
        assert_eq!(
            image.len(),
            formatted.len().max(tree),
            "{}",
            self.describe()
        );
        let same = image.get(tree..) == formatted.get(tree..);
        assert!(same || self.data_blocks == 1, "{}", self.describe());
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

fn usual() -> Case {
    Case {
        version: Version::Current,
        hash: "sha256",
        data_block: 4096,
        hash_block: 4096,
        data_blocks: 300,
        salt: vec![0xab; 32],
        superblock: true,
    }
}

const VERSIONS: [Version; 2] = [Version::ChromiumOs, Version::Current];

#[test]
fn all_digest_sizes_and_both_versions() {
    for version in VERSIONS {
        for hash in ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"] {
            Case {
                version,
                hash,
                ..usual()
            }
            .check();
        }
    }
}

#[test]
fn all_block_sizes() {
    for data_block in [512, 1024, 2048, 4096] {
        for hash_block in [512, 1024, 2048, 4096, 8192, 65536] {
            Case {
                data_block,
                hash_block,
                ..usual()
            }
            .check();
        }
    }
}

#[test]
fn small_hash_blocks_of_both_versions() {
    // Four levels of 8 to 16 slots, and digests that do not fill a block.
    for version in VERSIONS {
        for hash in ["sha1", "sha224", "sha384"] {
            let case = Case {
                version,
                hash,
                data_block: 512,
                hash_block: 512,
                ..usual()
            };
            Case {
                data_blocks: 4099,
                ..case
            }
            .check();
        }
    }
}

#[test]
fn numbers_of_blocks_around_those_of_slots() {
    for version in VERSIONS {
        for data_blocks in [2, 127, 128, 129, 255, 256, 257, 128 * 128, 128 * 128 + 1] {
            let case = Case {
                version,
                data_blocks,
                data_block: 512,
                ..usual()
            };
            case.check();
        }
    }
}

#[test]
fn one_data_block() {
    for version in VERSIONS {
        let case = Case {
            version,
            data_blocks: 1,
            ..usual()
        };
        let data = case.data();
        let (image, root) = case.build(&data);
        assert!(image.iter().all(|&byte| byte == 0), "no tree");
        assert_eq!(root, case.hash(&data));
        case.check();
    }
}

#[test]
fn salts() {
    for version in VERSIONS {
        for length in [0, 1, 31, 256] {
            Case {
                version,
                salt: vec![0x5a; length],
                ..usual()
            }
            .check();
        }
    }
}

#[test]
fn without_superblock() {
    for version in VERSIONS {
        Case {
            version,
            superblock: false,
            ..usual()
        }
        .check();
    }
}

#[test]
fn another_byte_is_another_tree() {
    let case = usual();
    let mut data = case.data();
    let (_, root) = case.format(&data);
    data[777_777] ^= 1;
    assert_ne!(hex(&case.build(&data).1), root);
}
