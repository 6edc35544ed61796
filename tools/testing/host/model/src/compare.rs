// SPDX-License-Identifier: GPL-2.0

//! Loads a table by the parser and by the reference, and compares.

use std::ffi::CString;

use dm::target::{
    args::{
        Args,
        TableError, //
    },
    status::Status,
};
use verity::{
    fec_layout::FecLayout,
    hash_tree::{
        Blocks,
        Geometry, //
    },
    status::{
        Fec,
        Table, //
    },
    table::{
        parse,
        Config, //
    },
};

use crate::{
    reference::{
        self,
        Accepted,
        Refusal, //
    },
    words,
    Machine, //
};

/// Loads a table by the parser.
pub fn load(words: &[CString], machine: &mut Machine) -> Result<Config<Machine>, TableError> {
    parse(Args::new(words), machine)
}

/// An error as the reference has it.
pub fn refusal(error: TableError) -> Refusal {
    (error.text.to_str().unwrap().into(), error.errno.number())
}

/// An accepted table as the reference has it.
pub fn accepted(config: &Config<Machine>) -> Accepted {
    let Config {
        data_device,
        hash_device,
        geometry,
        hashing,
        options,
    } = config;
    let level = |level| geometry.level_start(level).unwrap();
    Accepted {
        version: hashing.version.number(),
        devices: (*data_device, *hash_device, options.parity.device),
        block_sizes: (geometry.data_block().bytes(), geometry.hash_block().bytes()),
        data_blocks: geometry.data_blocks(),
        hash_start: geometry.hash_start(),
        hash_end: geometry.hash_end(),
        levels: (0..geometry.levels()).map(level).collect(),
        algorithm: CString::new(hashing.name.clone()).unwrap(),
        root_digest: hashing.root_digest.clone(),
        salt: hashing.salt.clone(),
        modes: (options.corruption.word(), options.error.word()),
        flags: (
            options.zero_digest.is_some(),
            options.validated.is_some(),
            options.try_verify_in_tasklet,
        ),
        fec: (
            options.parity.blocks,
            options.parity.start,
            options.parity.roots,
        ),
        key: options
            .signature
            .as_ref()
            .map(|key| CString::new(key.description.clone()).unwrap()),
    }
}

/// The table line of an accepted table, in a buffer of so many bytes, without the NUL.
pub fn table_line(config: &Config<Machine>, machine: &Machine, size: usize) -> Vec<u8> {
    let name = |device: usize| machine.devices[device].0.as_bytes();
    let options = &config.options;
    let table = Table {
        version: config.hashing.version,
        data_device: name(config.data_device),
        hash_device: name(config.hash_device),
        sizes: config.geometry.sizes(),
        algorithm: &config.hashing.name,
        root_digest: &config.hashing.root_digest,
        salt: &config.hashing.salt,
        corruption: options.corruption,
        error: options.error,
        ignore_zero_blocks: options.zero_digest.is_some(),
        check_at_most_once: options.validated.is_some(),
        try_verify_in_tasklet: options.try_verify_in_tasklet,
        fec: options.parity.device.map(|device| Fec {
            device: name(device),
            blocks: options.parity.blocks,
            start: options.parity.start,
            roots: options.parity.roots,
        }),
        signature_key: options.signature.as_ref().map(|key| &key.description[..]),
    };
    let mut buffer = vec![0xaa; size];
    let mut status = Status::new(&mut buffer);
    table.emit(&mut status);
    let line = status.as_bytes().to_vec();
    assert_eq!(buffer.get(line.len()), Some(&0));
    line
}

/// Loads a table by both, panics on any difference, and tells the outcome.
pub fn compare(words: &[CString], machine: &Machine) -> Result<Config<Machine>, Refusal> {
    let mut ours = machine.clone();
    let mut theirs = machine.clone();
    let config = load(words, &mut ours).map_err(refusal);
    let expected = reference::load(words, &mut theirs);
    let outcome = config.as_ref().map(accepted).map_err(Refusal::clone);
    assert_eq!(outcome, expected);
    assert_eq!(ours.calls, theirs.calls);
    config
}

/// Checks that an accepted table can be used, and panics if not.
pub fn check(config: &Config<Machine>, machine: &Machine) {
    check_tree(&config.geometry);
    let parity = &config.options.parity;
    let layout = FecLayout::new(parity, &config.geometry);
    if parity.device.is_none() || layout.is_ok() {
        check_line(config, machine);
    }
    if let Ok(layout) = layout {
        let covered = u128::from(layout.regions()) * u128::from(layout.region_blocks());
        assert!(covered >= u128::from(layout.blocks()));
        assert!(covered - u128::from(layout.blocks()) < layout.regions().into());
        let _ = layout.check_fec_device(parity.start);
        let _ = layout.check_hash_device(parity.start);
    }
}

/// The way of some data blocks to the root stays in the tree, and so does what is prefetched.
fn check_tree(tree: &Geometry) {
    let within = tree.hash_start()..tree.hash_end();
    let last = tree.data_blocks().saturating_sub(1);
    for first in [0, last / 3, last] {
        for level in 0..tree.levels() {
            let position = tree.position(level, first).unwrap();
            assert!(within.contains(&position.hash_block));
            let end = u64::from(position.offset) + u64::from(tree.digest_size());
            assert!(end <= tree.hash_block().bytes().into());
        }
        assert_eq!(tree.leaf_run(first) > 0, first < tree.data_blocks());
        for level in tree.prefetch_levels() {
            let data = Blocks { first, count: 1 };
            let blocks = tree.prefetch(level, data, 1 << 18).unwrap();
            let needed = tree.position(level, first).unwrap().hash_block;
            assert!(blocks.first <= needed && needed - blocks.first < blocks.count);
            assert!(within.start <= blocks.first && blocks.first + blocks.count <= within.end);
        }
    }
}

/// The table line means the same table, and is cut where a buffer ends.
fn check_line(config: &Config<Machine>, machine: &Machine) {
    // No call fails this time.
    let machine = Machine {
        failure: None,
        ..machine.clone()
    };
    let line = table_line(config, &machine, 1 << 20);
    let Ok(again) = compare(&words::split(&line), &machine) else {
        panic!("refused: {}", line.escape_ascii());
    };
    let mut meant = accepted(config);
    if meant.devices.2.is_none() {
        // Without a FEC device the other words about it are dropped.
        meant.fec = (0, 0, 0);
    }
    assert_eq!(accepted(&again), meant);
    let size = line.len() / 2 + 1;
    assert_eq!(table_line(config, &machine, size), line[..size - 1]);
}
