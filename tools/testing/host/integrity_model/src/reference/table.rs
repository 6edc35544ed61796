// SPDX-License-Identifier: GPL-2.0

//! The first half of `dm_integrity_ctr()`: the words.

use std::ffi::{
    CStr,
    CString, //
};

use model::words::{
    hex,
    number, //
};

use super::{
    invalid,
    AlgSpec,
    Ic,
    Refusal, //
};
use crate::{
    machine::{
        ENOENT,
        ENOMEM, //
    },
    Machine,
};

/// `sscanf(word, "name:%u%c", ...) == 1`
fn scan_u(word: &[u8], name: &str) -> Option<u32> {
    number(word.strip_prefix(name.as_bytes())?).map(|value| (value & 0xffff_ffff) as u32)
}

fn scan_llu(word: &[u8], name: &str) -> Option<u64> {
    number(word.strip_prefix(name.as_bytes())?)
}

/// The kernel's `__fls()`.
pub fn fls(value: u64) -> u8 {
    (0..64).rev().find(|bit| (value >> bit) & 1 == 1).unwrap()
}

/// The words of a table, up to where C has read all of them.
pub fn words(argv: &[CString], machine: &mut Machine) -> Result<Ic, Refusal> {
    if argv.len() <= 4 {
        return invalid("Invalid argument count");
    }
    let mut ic = Ic {
        bitmap_flush_interval: jiffies(10_000, machine.ticks_per_second),
        interleave_sectors: 32768,
        journal_watermark: 50,
        sync_msec: 10000,
        sectors_per_block: 1,
        log2_sectors_per_bitmap_bit: -1,
        log2_buffer_sectors: fls(128),
        dev: device(&argv[0], machine)?,
        ..Ic::default()
    };
    match number(argv[1].to_bytes()) {
        Some(start) => ic.start = start,
        None => return invalid("Invalid starting offset"),
    }
    if argv[2].to_bytes() != b"-" {
        match number(argv[2].to_bytes()).map(|size| size as u32) {
            Some(size) if size != 0 => ic.tag_size = size,
            _ => return invalid("Invalid tag size"),
        }
    }
    match argv[3].to_bytes() {
        &[mode] if b"JBDRI".contains(&mode) => ic.mode = mode,
        _ => return invalid("Invalid mode (expecting J, B, D, R, I)"),
    }
    let extra = number(argv[4].to_bytes()).map(|count| count as u32);
    let rest = &argv[5..];
    match extra {
        Some(count) if count <= 18 && count as usize <= rest.len() => {
            for word in &rest[..count as usize] {
                option(word.to_bytes(), &mut ic, machine)?;
            }
        }
        _ => return invalid("Invalid number of feature args"),
    }
    Ok(ic)
}

fn device(name: &CStr, machine: &mut Machine) -> Result<usize, Refusal> {
    machine
        .open(name)
        .map_err(|errno| ("Device lookup failed".into(), errno))
}

fn option(word: &[u8], ic: &mut Ic, machine: &mut Machine) -> Result<(), Refusal> {
    if let Some(val) = scan_u(word, "journal_sectors:") {
        ic.journal_sectors = if val != 0 { val } else { 1 };
    } else if let Some(val) = scan_u(word, "interleave_sectors:") {
        ic.interleave_sectors = val;
    } else if let Some(val) = scan_u(word, "buffer_sectors:") {
        ic.log2_buffer_sectors = fls(if val == 0 { 1 } else { val.into() }).min(22);
    } else if let Some(val) = scan_u(word, "journal_watermark:").filter(|val| *val <= 100) {
        ic.journal_watermark = val;
    } else if let Some(val) = scan_u(word, "commit_time:") {
        ic.sync_msec = val;
    } else if let Some(name) = word.strip_prefix(b"meta_device:") {
        ic.meta_dev = Some(device(&CString::new(name).unwrap(), machine)?);
    } else if let Some(val) = scan_u(word, "block_size:") {
        if !(512..=4096).contains(&val) || val & (val - 1) != 0 {
            return invalid("Invalid block_size argument");
        }
        ic.sectors_per_block = (val >> 9) as u8;
    } else if let Some(val) = scan_llu(word, "sectors_per_bit:") {
        ic.log2_sectors_per_bitmap_bit = if val == 0 { 0 } else { fls(val) as i8 };
    } else if let Some(val) = scan_u(word, "bitmap_flush_interval:") {
        let hz = machine.ticks_per_second;
        if u64::from(val) >= u64::from(u32::MAX) * 1000 / u64::from(hz) {
            return invalid("Invalid bitmap_flush_interval argument");
        }
        ic.bitmap_flush_interval = jiffies(val, hz);
    } else if let Some(rest) = word.strip_prefix(b"internal_hash:") {
        ic.internal_hash_alg = Some(alg(rest, "Invalid internal_hash argument", machine)?);
    } else if let Some(rest) = word.strip_prefix(b"journal_crypt:") {
        ic.journal_crypt_alg = Some(alg(rest, "Invalid journal_crypt argument", machine)?);
    } else if let Some(rest) = word.strip_prefix(b"journal_mac:") {
        ic.journal_mac_alg = Some(alg(rest, "Invalid journal_mac argument", machine)?);
    } else {
        return flag(word, ic);
    }
    Ok(())
}

fn flag(word: &[u8], ic: &mut Ic) -> Result<(), Refusal> {
    match word {
        b"recalculate" => ic.recalculate_flag = true,
        b"reset_recalculate" => {
            ic.recalculate_flag = true;
            ic.reset_recalculate_flag = true;
        }
        b"allow_discards" => ic.discard = true,
        b"allow_discards_keyed" => {
            ic.discard = true;
            ic.discard_keyed = true;
        }
        b"fix_padding" => ic.fix_padding = true,
        b"fix_hmac" => ic.fix_hmac = true,
        b"legacy_recalculate" => ic.legacy_recalculate = true,
        _ => return invalid("Invalid argument"),
    }
    Ok(())
}

/// `get_alg_and_key()`
fn alg(rest: &[u8], error: &str, machine: &mut Machine) -> Result<AlgSpec, Refusal> {
    let no_memory = |errno| ("Out of memory for an argument".to_string(), errno);
    machine.allocate().map_err(no_memory)?;
    let mut parts = rest.splitn(2, |&byte| byte == b':');
    let alg_string = CString::new(parts.next().unwrap()).unwrap();
    let Some(key) = parts.next() else {
        return Ok(AlgSpec {
            alg_string,
            ..AlgSpec::default()
        });
    };
    if key.len() & 1 == 1 {
        return invalid(error);
    }
    machine.allocate().map_err(|_| no_memory(ENOMEM))?;
    match hex(key) {
        Some(bytes) => Ok(AlgSpec {
            alg_string,
            key_string: Some(key.into()),
            key: Some(bytes),
        }),
        None => invalid(error),
    }
}

/// `msecs_to_jiffies()` where 1000 is a multiple of HZ, in an `unsigned int`.
fn jiffies(msec: u32, hz: u32) -> u32 {
    if (msec as i32) < 0 {
        // MAX_JIFFY_OFFSET
        return ((i64::MAX >> 1) - 1) as u32;
    }
    msec.div_ceil(1000 / hz)
}

/// What C does from there to where it allocates pools: hashes, tag size, and modes.
pub fn hashes(ic: &mut Ic, machine: &mut Machine) -> Result<(), Refusal> {
    ic.data_device_sectors = machine.devices[ic.dev].sectors;
    ic.meta_device_sectors = machine.devices[ic.meta_dev.unwrap_or(ic.dev)].sectors;
    if ic.journal_sectors == 0 {
        ic.journal_sectors = (ic.data_device_sectors >> 7).min(131_072) as u32;
    }
    let mut digest_size = 0;
    if let Some(alg) = &ic.internal_hash_alg {
        match machine.hash(&alg.alg_string, alg.key.as_deref()) {
            Ok(hash) => digest_size = hash.digest_size,
            Err((false, errno)) => return Err(("Invalid internal hash".into(), errno)),
            Err((true, errno)) => return Err(("Error setting internal hash key".into(), errno)),
        }
    }
    if let Some(alg) = &ic.journal_mac_alg {
        match machine.hash(&alg.alg_string, alg.key.as_deref()) {
            Ok(hash) if hash.synchronous => {}
            Ok(_) | Err((false, _)) => return Err(("Invalid journal mac".into(), ENOENT)),
            Err((true, errno)) => return Err(("Error setting journal mac key".into(), errno)),
        }
    }
    if ic.tag_size == 0 {
        if ic.internal_hash_alg.is_none() {
            return invalid("Unknown tag size");
        }
        ic.tag_size = digest_size;
    }
    if ic.tag_size > 255 {
        return invalid("Too big tag size");
    }
    if ic.mode == b'I' {
        inline(ic, machine)?;
    }
    if ic.mode == b'B' && ic.internal_hash_alg.is_none() {
        return invalid("Bitmap mode can be only used with internal hash");
    }
    if ic.discard && ic.internal_hash_alg.is_none() {
        return invalid("Discard can be only used with internal hash");
    }
    let hash = ic.internal_hash_alg.as_ref();
    if ic.discard_keyed && hash.unwrap().key.is_none() {
        return invalid("Keyed discard can only be used with keyed internal hash");
    }
    Ok(())
}

fn inline(ic: &mut Ic, machine: &Machine) -> Result<(), Refusal> {
    if ic.meta_dev.is_some() {
        return invalid("Metadata device not supported in inline mode");
    }
    if ic.internal_hash_alg.is_none() {
        return invalid("Internal hash not set in inline mode");
    }
    if ic.journal_crypt_alg.is_some() || ic.journal_mac_alg.is_some() {
        return invalid("Journal crypt not supported in inline mode");
    }
    if ic.discard {
        return invalid("Discards not supported in inline mode");
    }
    match machine.devices[ic.dev].profile {
        Some(bi) if bi.is_opaque => {
            if bi.tuple_bytes < ic.tag_size {
                return invalid("The integrity profile is smaller than tag size");
            }
            if bi.tuple_bytes > 4096 / 2 {
                return invalid("Too big tuple size");
            }
            ic.tuple_size = bi.tuple_bytes;
            if bi.interval_bytes != u64::from(ic.sectors_per_block) << 9 {
                return invalid("Integrity profile sector size mismatch");
            }
            Ok(())
        }
        _ => invalid("Integrity profile not supported"),
    }
}
