// SPDX-License-Identifier: GPL-2.0

//! What the C target does with a table, told once more and as plainly as possible.
//!
//! This shares no code with the parser. Where C reads or writes what it should not, this does what
//! the list of behaviours has decided.

use std::ffi::{
    CStr,
    CString, //
};

use model::words::number;

use crate::{
    reference_cipher::encryption,
    Machine, //
};

const EINVAL: i32 = 22;

/// The text and the number of an error.
pub type Refusal = (String, i32);

/// What an accepted table means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// The word for the cipher.
    pub cipher: Vec<u8>,
    /// The key as it is kept.
    pub key: Vec<u8>,
    /// Its name in a keyring.
    pub reference: Option<Vec<u8>>,
    /// Of the key: size, number of transforms, parts, bytes that are extra, bytes for the message
    /// authentication code.
    pub layout: [u32; 5],
    /// The bytes of an IV.
    pub iv_size: u32,
    /// What makes IVs.
    pub iv: Option<String>,
    /// What is added to sectors for IVs.
    pub iv_offset: u64,
    /// The number of the device.
    pub device: usize,
    /// The first sector on it.
    pub start: u64,
    /// allow_discards, same_cpu_crypt, high_priority, submit_from_crypt_cpus, no_read_workqueue,
    /// no_write_workqueue, iv_large_sectors.
    pub flags: [bool; 7],
    /// The bytes of metadata that the table asks for, and the profile.
    pub tag: Option<(u32, Vec<u8>)>,
    /// Whether encryption is authenticated.
    pub aead: bool,
    /// The sector size in bytes.
    pub sector_size: u32,
    /// The size of the key of the message authentication code, if the table tells it.
    pub mac_key_size: Option<u32>,
    /// Of the metadata: bytes of the tag, of the stored IV, of the tuple.
    pub tuple: Option<[u32; 3]>,
}

pub(crate) fn refuse<T>(text: &str, errno: i32) -> Result<T, Refusal> {
    Err((text.into(), errno))
}

pub(crate) fn invalid<T>(text: &str) -> Result<T, Refusal> {
    refuse(text, EINVAL)
}

pub(crate) fn or<T>(result: Result<T, i32>, text: &str) -> Result<T, Refusal> {
    result.map_err(|errno| (text.into(), errno))
}

/// The position of a byte in a string, as strchr() tells it.
pub(crate) fn find(text: &[u8], byte: u8) -> Option<usize> {
    text.iter().position(|&other| other == byte)
}

/// Loads a table into a machine.
pub fn load(words: &[CString], machine: &mut Machine) -> Result<Accepted, Refusal> {
    let [cipher, key, iv_offset, device, start, rest @ ..] = words else {
        return invalid("Not enough arguments");
    };
    let Some((size, key)) = key_size(key.to_bytes()) else {
        return invalid("Cannot parse key size");
    };
    or(
        machine.secret(size as usize),
        "Cannot allocate encryption context",
    )?;
    let mut table = Accepted {
        sector_size: 512,
        cipher: cipher.to_bytes().to_vec(),
        key: vec![0; size as usize],
        ..Accepted::default()
    };
    options(rest, &mut table, machine.sectors)?;
    if let Some((_, profile)) = &table.tag {
        or(machine.allocate(profile.len()), "Unknown error")?;
    }
    let stored = encryption(key, &mut table, machine)?;
    or(machine.call(crate::machine::Call::Pools), "pools")?;
    match number(iv_offset.to_bytes()) {
        Some(offset) if offset % u64::from(table.sector_size / 512) == 0 => {
            table.iv_offset = offset;
        }
        _ => return invalid("Invalid iv_offset sector"),
    }
    table.device = or(machine.open(device), "Device lookup failed")?;
    match number(start.to_bytes()) {
        Some(start) => table.start = start,
        None => return invalid("Invalid device sector"),
    }
    if machine.devices[table.device].zoned {
        table.flags[5] = true;
    }
    if table.aead || stored > 0 {
        metadata(stored, &mut table, machine)?;
    }
    Ok(table)
}

/// The size of a key, and what is left to read of it.
pub fn key_size(word: &[u8]) -> Option<(u32, &[u8])> {
    if word.first() != Some(&b':') {
        return Some((word.len() as u32 / 2, word));
    }
    let second = find(&word[1..], b':')? + 1;
    let size = number(&word[1..second])? % (1 << 32);
    // It is kept in an int, and negative ones are errors.
    (size < 1 << 31).then_some((size as u32, &word[second..]))
}

/// What follows `name` in a word.
fn after<'a>(word: &'a [u8], name: &str) -> Option<&'a [u8]> {
    word.starts_with(name.as_bytes())
        .then(|| &word[name.len()..])
}

fn options(words: &[CString], table: &mut Accepted, sectors: u64) -> Result<(), Refusal> {
    let [count, words @ ..] = words else {
        return Ok(());
    };
    let count = number(count.to_bytes()).map(|count| count % (1 << 32));
    let words = match count {
        Some(count) if count <= 9 && count <= words.len() as u64 => &words[..count as usize],
        _ => return invalid("Invalid number of feature args"),
    };
    for word in words {
        option(word, table, sectors)?;
    }
    Ok(())
}

fn option(word: &CStr, table: &mut Accepted, sectors: u64) -> Result<(), Refusal> {
    const FLAGS: [&str; 7] = [
        "allow_discards",
        "same_cpu_crypt",
        "high_priority",
        "submit_from_crypt_cpus",
        "no_read_workqueue",
        "no_write_workqueue",
        "iv_large_sectors",
    ];

    let lower = word.to_bytes().to_ascii_lowercase();
    if let Some(flag) = FLAGS.iter().position(|flag| flag.as_bytes() == lower) {
        table.flags[flag] = true;
        return Ok(());
    }
    let word = word.to_bytes();
    // "integrity:%u:" matches when there is a number, whatever follows.
    if let Some(rest) = after(word, "integrity:") {
        let blanks = rest
            .iter()
            .take_while(|&&byte| model::words::is_space(byte));
        let blanks = blanks.count();
        let digits = rest[blanks..].iter().take_while(|b| b.is_ascii_digit());
        let end = blanks + digits.count();
        if let Some(size) = number(&rest[..end]) {
            return integrity((size % (1 << 32)) as u32, rest, table);
        }
    }
    if let Some(size) = after(word, "integrity_key_size:").and_then(number) {
        table.mac_key_size = Some((size % (1 << 32)) as u32);
        if table.mac_key_size == Some(0) {
            return invalid("Invalid integrity_key_size argument");
        }
        return Ok(());
    }
    let Some(size) = after(word, "sector_size:").and_then(number) else {
        return invalid("Invalid feature arguments");
    };
    let size = (size % (1 << 16)) as u32;
    if ![512, 1024, 2048, 4096].contains(&size) {
        return invalid("Invalid feature value for sector_size");
    }
    if sectors % u64::from(size / 512) != 0 {
        return invalid("Device size is not multiple of sector_size feature");
    }
    table.sector_size = size;
    Ok(())
}

fn integrity(size: u32, rest: &[u8], table: &mut Accepted) -> Result<(), Refusal> {
    if size == 0 || size > 480 {
        return invalid("Invalid integrity arguments");
    }
    let profile = match find(rest, b':') {
        Some(colon) => &rest[colon + 1..],
        None => return invalid("Unknown integrity profile"),
    };
    match &profile.to_ascii_lowercase()[..] {
        b"aead" => table.aead = true,
        b"none" => {}
        _ => return invalid("Unknown integrity profile"),
    }
    table.tag = Some((size, profile.to_vec()));
    Ok(())
}

fn metadata(stored: u32, table: &mut Accepted, machine: &mut Machine) -> Result<(), Refusal> {
    let Some((metadata, interval)) = machine.devices[table.device].profile else {
        return invalid("Integrity profile not supported.");
    };
    let used = table.tag.as_ref().map_or(0, |(size, _)| *size);
    if metadata < used {
        return invalid("Integrity profile tag size mismatch.");
    }
    if interval != table.sector_size {
        return invalid("Integrity profile sector size mismatch.");
    }
    let mut tag = 0;
    if table.aead {
        let text = "Integrity AEAD auth tag size is not supported.";
        if used < stored {
            return invalid(text);
        }
        tag = used - stored;
        if machine.tag_size(tag).is_err() {
            return invalid(text);
        }
    }
    if tag + stored > metadata {
        return invalid("Not enough space for integrity tag in the profile.");
    }
    table.tuple = Some([tag, stored, metadata]);
    Ok(())
}
