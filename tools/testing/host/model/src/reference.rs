// SPDX-License-Identifier: GPL-2.0

//! What the C target does with a table, told once more and as plainly as possible.
//!
//! This shares no code with the parser. Where C does arithmetic that wraps, this does it in 128
//! bits: the parser is meant to be right there.

use std::ffi::{
    CStr,
    CString, //
};

use crate::{
    words::{
        hex,
        number, //
    },
    Machine,
};

const E2BIG: i32 = 7;
const EINVAL: i32 = 22;
const ENOMEM: i32 = 12;

/// The text and the number of an error.
pub type Refusal = (String, i32);

/// What an accepted table means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// The hash type.
    pub version: u32,
    /// The numbers of the data, hash, and FEC device.
    pub devices: (usize, usize, Option<usize>),
    /// The sizes of a data and a hash block in bytes.
    pub block_sizes: (u32, u32),
    /// The number of data blocks.
    pub data_blocks: u64,
    /// The first hash block.
    pub hash_start: u64,
    /// The hash block after the last.
    pub hash_end: u64,
    /// The first hash block of each level, from the leaves up.
    pub levels: Vec<u64>,
    /// The name of the hash algorithm.
    pub algorithm: CString,
    /// The root digest.
    pub root_digest: Vec<u8>,
    /// The salt.
    pub salt: Vec<u8>,
    /// The words of the corruption mode and of the error mode.
    pub modes: (Option<&'static str>, Option<&'static str>),
    /// ignore_zero_blocks, check_at_most_once, try_verify_in_tasklet.
    pub flags: (bool, bool, bool),
    /// fec_blocks, fec_start, fec_roots.
    pub fec: (u64, u64, u8),
    /// The key that has the signature.
    pub key: Option<CString>,
}

fn refuse<T>(text: &str, errno: i32) -> Result<T, Refusal> {
    Err((text.into(), errno))
}

fn invalid<T>(text: &str) -> Result<T, Refusal> {
    refuse(text, EINVAL)
}

fn or<T>(result: Result<T, i32>, text: &str) -> Result<T, Refusal> {
    result.map_err(|errno| (text.into(), errno))
}

fn is(word: &CStr, name: &str) -> bool {
    word.to_str()
        .is_ok_and(|word| word.to_ascii_lowercase() == name)
}

/// Loads a table into a machine.
pub fn load(words: &[CString], machine: &mut Machine) -> Result<Accepted, Refusal> {
    let mut table = Accepted::default();
    if !machine.read_only {
        return invalid("Device must be readonly");
    }
    if words.len() < 10 {
        return invalid("Not enough arguments");
    }
    let (fixed, optional) = words.split_at(10);
    let options = counted(optional)?;
    table.flags.2 = options.iter().any(|word| is(word, "try_verify_in_tasklet"));
    positional(fixed, &mut table, machine)?;
    read_options(options, &mut table, machine)?;
    let verified = machine.verify(&fixed[8], table.key.as_deref());
    or(verified, "Root hash verification failed")?;
    place(&mut table)?;
    Ok(table)
}

fn counted(optional: &[CString]) -> Result<&[CString], Refusal> {
    let Some((count, rest)) = optional.split_first() else {
        return Ok(&[]);
    };
    match number(count.to_bytes()).map(|count| (count % (1 << 32)) as usize) {
        Some(count) if count <= 15 && count <= rest.len() => Ok(&rest[..count]),
        _ => invalid("Invalid number of feature args"),
    }
}

fn size(word: &CStr, min: u32, max: u32) -> Option<u32> {
    let size = (number(word.to_bytes())? % (1 << 32)) as u32;
    (size.count_ones() == 1 && size >= min && size <= max).then_some(size)
}

fn blocks(word: &CStr, size: u32) -> Option<u64> {
    let blocks = number(word.to_bytes())?;
    (u128::from(blocks) * u128::from(size / 512) < 1 << 64).then_some(blocks)
}

fn positional(
    words: &[CString],
    table: &mut Accepted,
    machine: &mut Machine,
) -> Result<(), Refusal> {
    table.version = match number(words[0].to_bytes()).map(|version| version % (1 << 32)) {
        Some(0) => 0,
        Some(1) => 1,
        _ => return invalid("Invalid version"),
    };
    table.devices.0 = or(machine.open(&words[1]), "Data device lookup failed")?;
    table.devices.1 = or(machine.open(&words[2]), "Hash device lookup failed")?;
    let logical = machine.devices[table.devices.0].1;
    match size(&words[3], logical, machine.page_size) {
        Some(size) => table.block_sizes.0 = size,
        None => return invalid("Invalid data device block size"),
    }
    let logical = machine.devices[table.devices.1].1;
    match size(&words[4], logical, 0x7fff_ffff) {
        Some(size) => table.block_sizes.1 = size,
        None => return invalid("Invalid hash device block size"),
    }
    match blocks(&words[5], table.block_sizes.0) {
        Some(blocks) => table.data_blocks = blocks,
        None => return invalid("Invalid data blocks"),
    }
    let sectors = u128::from(table.data_blocks) * u128::from(table.block_sizes.0 / 512);
    if u128::from(machine.sectors) > sectors {
        return invalid("Data device is too small");
    }
    match blocks(&words[6], table.block_sizes.1) {
        Some(start) => table.hash_start = start,
        None => return invalid("Invalid hash start"),
    }
    hashing(&words[7..], table, machine)
}

fn hashing(words: &[CString], table: &mut Accepted, machine: &mut Machine) -> Result<(), Refusal> {
    let name = &words[0];
    or(
        machine.allocate(name.as_bytes().len()),
        "Cannot allocate algorithm name",
    )?;
    table.algorithm = name.clone();
    let digest = or(
        machine.hash(name, table.version),
        "Cannot initialize hash function",
    )?;
    if u64::from(digest) * 2 > u64::from(table.block_sizes.1) {
        return invalid("Digest size too big");
    }
    or(
        machine.allocate(digest as usize),
        "Cannot allocate root digest",
    )?;
    match hex(words[1].to_bytes()) {
        Some(root) if root.len() == digest as usize => table.root_digest = root,
        _ => return invalid("Invalid root digest"),
    }
    if words[2].as_c_str() != c"-" {
        or(
            machine.allocate(words[2].as_bytes().len() / 2),
            "Cannot allocate salt",
        )?;
        match hex(words[2].to_bytes()) {
            Some(salt) => table.salt = salt,
            None => return invalid("Invalid salt"),
        }
    }
    if table.version == 1 {
        match machine.state(&table.salt) {
            Ok(()) => {}
            Err(ENOMEM) => return refuse("Cannot allocate initial hash state", ENOMEM),
            Err(errno) => return refuse("Cannot set up initial hash state", errno),
        }
    }
    Ok(())
}

fn read_options(
    mut words: &[CString],
    table: &mut Accepted,
    machine: &mut Machine,
) -> Result<(), Refusal> {
    const CORRUPTION: [&str; 3] = [
        "ignore_corruption",
        "restart_on_corruption",
        "panic_on_corruption",
    ];
    const ERROR: [&str; 2] = ["restart_on_error", "panic_on_error"];
    const FEC: [&str; 4] = [
        "use_fec_from_device",
        "fec_blocks",
        "fec_start",
        "fec_roots",
    ];

    while let [name, rest @ ..] = words {
        words = rest;
        let mut value = None;
        let takes_value = machine.features.fec && FEC.iter().any(|word| is(name, word))
            || machine.features.signatures && is(name, "root_hash_sig_key_desc");
        if takes_value {
            if let [first, rest @ ..] = words {
                value = Some(first.as_c_str());
                words = rest;
            }
        }
        if let Some(word) = CORRUPTION.iter().find(|word| is(name, word)) {
            if table.modes.0.replace(word).is_some() {
                return invalid("Conflicting error handling parameters");
            }
        } else if let Some(word) = ERROR.iter().find(|word| is(name, word)) {
            if table.modes.1.replace(word).is_some() {
                return invalid("Conflicting error handling parameters");
            }
        } else if is(name, "ignore_zero_blocks") {
            if !table.flags.0 {
                or(
                    machine.zero_digest(table.block_sizes.0),
                    "Cannot allocate zero digest",
                )?;
            }
            table.flags.0 = true;
        } else if is(name, "check_at_most_once") {
            if !table.flags.1 {
                if table.data_blocks > 0x7fff_ffff {
                    return refuse("device too large to use check_at_most_once", E2BIG);
                }
                let bits = table.data_blocks as u32;
                or(
                    machine.bitmap(bits),
                    "failed to allocate bitset for check_at_most_once",
                )?;
            }
            table.flags.1 = true;
        } else if is(name, "try_verify_in_tasklet") {
            table.flags.2 = true;
        } else if takes_value && is(name, "root_hash_sig_key_desc") {
            signature(value, table, machine)
                .map_err(|(text, errno)| (format!("DM Verity Sig Verification {text}"), errno))?;
        } else if takes_value {
            fec(name, value, table, machine)?;
        } else {
            machine.log(name);
            return invalid("Unrecognized verity feature request");
        }
    }
    Ok(())
}

fn signature(
    key: Option<&CStr>,
    table: &mut Accepted,
    machine: &mut Machine,
) -> Result<(), Refusal> {
    if table.key.is_some() {
        return invalid("root_hash_sig_key_desc already specified");
    }
    let Some(key) = key else {
        return invalid("Signature key not specified");
    };
    or(machine.signature(key), "Invalid key specified")?;
    let length = key.to_bytes().len();
    or(
        machine.allocate(length),
        "Could not allocate memory for signature key",
    )?;
    table.key = Some(key.into());
    Ok(())
}

fn fec(
    name: &CStr,
    value: Option<&CStr>,
    table: &mut Accepted,
    machine: &mut Machine,
) -> Result<(), Refusal> {
    let Some(value) = value else {
        return invalid("FEC feature arguments require a value");
    };
    if is(name, "use_fec_from_device") {
        if table.devices.2.is_some() {
            return invalid("FEC device already specified");
        }
        table.devices.2 = Some(or(machine.open(value), "FEC device lookup failed")?);
    } else if is(name, "fec_blocks") {
        match blocks(value, table.block_sizes.0) {
            Some(blocks) => table.fec.0 = blocks,
            None => return invalid("Invalid fec_blocks"),
        }
    } else if is(name, "fec_start") {
        match blocks(value, table.block_sizes.0) {
            Some(start) => table.fec.1 = start,
            None => return invalid("Invalid fec_start"),
        }
    } else {
        match number(value.to_bytes()).map(|roots| roots % 256) {
            Some(roots @ 2..=24) => table.fec.2 = roots as u8,
            _ => return invalid("Invalid fec_roots"),
        }
    }
    Ok(())
}

fn place(table: &mut Accepted) -> Result<(), Refusal> {
    let digest = table.root_digest.len() as u64;
    if digest == 0 {
        return invalid("Digest size too big");
    }
    let mut slots = 1;
    while slots * 2 * digest <= u64::from(table.block_sizes.1) {
        slots *= 2;
    }
    // The blocks of each level, from the leaves up, until one is enough.
    let mut counts = Vec::new();
    let mut below = table.data_blocks;
    while below > 1 {
        below = below.div_ceil(slots);
        counts.push(below);
    }
    if counts.len() > 63 {
        return refuse("Too many tree levels", E2BIG);
    }
    let mut end = table.hash_start;
    for count in counts.iter().rev() {
        table.levels.insert(0, end);
        end = match end.checked_add(*count) {
            Some(end) => end,
            None => return refuse("Hash device offset overflow", E2BIG),
        };
    }
    table.hash_end = end;
    Ok(())
}
