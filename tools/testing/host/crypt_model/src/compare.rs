// SPDX-License-Identifier: GPL-2.0

//! Loads a table by the parser and by the reference, and compares.

use std::ffi::CString;

use crypt::{
    options::{
        Flags,
        Tag, //
    },
    status::{
        Key,
        Table, //
    },
    table::{
        parse,
        Config, //
    },
};
use dm::target::{
    args::{
        Args,
        TableError, //
    },
    status::Status,
};
use model::words;

use crate::{
    reference::{
        self,
        Accepted,
        Refusal, //
    },
    Machine,
};

/// An error as the reference has it.
pub fn refusal(error: TableError) -> Refusal {
    (error.text.to_str().unwrap().into(), error.errno.number())
}

/// The flags as the reference has them.
pub fn flags(flags: &Flags) -> [bool; 7] {
    [
        flags.allow_discards,
        flags.same_cpu_crypt,
        flags.high_priority,
        flags.submit_from_crypt_cpus,
        flags.no_read_workqueue,
        flags.no_write_workqueue,
        flags.iv_large_sectors,
    ]
}

/// An accepted table as the reference has it.
pub fn accepted(config: &Config<Machine>) -> Accepted {
    let layout = &config.key.layout;
    Accepted {
        cipher: config.cipher_string.clone(),
        key: config.key.bytes.to_vec(),
        reference: config.key.reference.clone(),
        layout: [
            layout.size,
            layout.transforms,
            layout.parts,
            layout.extra,
            layout.mac,
        ],
        iv_size: config.iv_size,
        iv: config.iv.as_ref().map(|iv| format!("{:?}", iv.generator)),
        iv_offset: config.iv_offset,
        device: config.device,
        start: config.start,
        flags: flags(&config.flags),
        tag: config
            .tag
            .as_ref()
            .map(|tag| (tag.size, tag.profile.clone())),
        aead: layout.aead,
        sector_size: config.sector_size.bytes(),
        mac_key_size: config.mac_key_size_given.then_some(layout.mac),
        tuple: config
            .tuple
            .map(|tuple| [tuple.tag_size, tuple.iv_size, tuple.size]),
    }
}

/// What an accepted table prints.
pub fn table<'a>(config: &'a Config<Machine>, machine: &'a Machine) -> Table<'a> {
    Table {
        cipher: &config.cipher_string,
        key: match (&config.key.reference, config.key.layout.size) {
            (_, 0) => Key::None,
            (Some(name), _) => Key::Keyring(name),
            (None, _) => Key::Bytes(&config.key.bytes),
        },
        layout: &config.key.layout,
        iv_offset: config.iv_offset,
        device: machine.devices[config.device].name.as_bytes(),
        start: config.start,
        flags: config.flags,
        tag: config.tag.as_ref().map(|tag| Tag {
            size: tag.size,
            profile: &tag.profile[..],
        }),
        sector_size: config.sector_size,
        mac_key_size_given: config.mac_key_size_given,
    }
}

/// The table line of an accepted table, in a buffer of so many bytes, without the NUL.
pub fn table_line(config: &Config<Machine>, machine: &Machine, size: usize) -> Vec<u8> {
    let mut buffer = vec![0xaa; size];
    let mut status = Status::new(&mut buffer);
    table(config, machine).emit(&mut status);
    let line = status.as_bytes().to_vec();
    assert_eq!(buffer.get(line.len()), Some(&0));
    line
}

/// Loads a table by both, panics on any difference, and tells the outcome.
pub fn compare(words: &[CString], machine: &Machine) -> Result<Config<Machine>, Refusal> {
    let mut ours = machine.clone();
    let mut theirs = machine.clone();
    let config = parse(Args::new(words), &mut ours).map_err(refusal);
    let expected = reference::load(words, &mut theirs);
    let outcome = config.as_ref().map(accepted).map_err(Refusal::clone);
    assert_eq!(outcome, expected);
    assert_eq!(ours.calls, theirs.calls);
    config
}

/// Whether the table line of an accepted table can be read again: it has at most nine options.
fn is_readable(config: &Config<Machine>) -> bool {
    let set = flags(&config.flags).into_iter().filter(|&set| set).count();
    let large = config.sector_size.bytes() != 512;
    let values = [config.tag.is_some(), large, config.mac_key_size_given];
    let values = values.into_iter().filter(|&set| set).count();
    // The words that are left of a table with two profiles may be another table.
    let profile = config
        .tag
        .as_ref()
        .is_some_and(|tag| tag.profile.eq_ignore_ascii_case(b"aead"));
    set + values <= 9 && profile == config.key.layout.aead
}

/// Checks that the table line means the same table, and is cut where a buffer ends; panics if not.
pub fn check(config: &Config<Machine>, machine: &Machine) {
    // No call fails this time.
    let machine = Machine {
        failure: None,
        ..machine.clone()
    };
    let line = table_line(config, &machine, 1 << 18);
    let size = line.len() / 2 + 1;
    assert_eq!(table_line(config, &machine, size), line[..size - 1]);
    // White space in a cipher or a profile is not quoted, as in C.
    let quoted = config.cipher_string.contains(&b'\\')
        || config
            .cipher_string
            .iter()
            .any(|&byte| words::is_space(byte));
    let key = config.key.reference.as_deref().unwrap_or_default();
    if !is_readable(config) || quoted || key.contains(&b'\\') {
        return;
    }
    match compare(&words::split(&line), &machine) {
        Ok(again) => assert_eq!(accepted(&again), accepted(config)),
        Err(error) => panic!("refused with {error:?}: {}", line.escape_ascii()),
    }
}
