// SPDX-License-Identifier: GPL-2.0

//! `dm_integrity_status()`

use super::{
    AlgSpec,
    Ic, //
};
use crate::Machine;

fn alg(name: &str, spec: Option<&AlgSpec>, words: &mut Vec<String>) {
    if let Some(spec) = spec {
        let mut word = format!("{name}:{}", spec.alg_string.to_string_lossy());
        if let Some(key) = &spec.key_string {
            word += &format!(":{}", std::str::from_utf8(key).unwrap());
        }
        words.push(word);
    }
}

/// The line of `dmsetup table`, without start, length, and name of the target.
pub fn table(ic: &Ic, machine: &Machine) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut add = |word: String, on: bool| {
        if on {
            words.push(word);
        }
    };
    let name = |dev: usize| machine.devices[dev].name.to_str().unwrap();
    let flag = |bit: u32| ic.sb.flags & bit != 0;
    let block_size = u32::from(ic.sectors_per_block) << 9;
    if let Some(dev) = ic.meta_dev {
        add(format!("meta_device:{}", name(dev)), true);
    }
    add(format!("block_size:{block_size}"), block_size != 512);
    add("recalculate".into(), flag(2));
    add("reset_recalculate".into(), ic.reset_recalculate_flag);
    add("allow_discards".into(), ic.discard && !ic.discard_keyed);
    add("allow_discards_keyed".into(), ic.discard_keyed);
    let interleave = 1u32 << ic.sb.log2_interleave_sectors;
    add(format!("interleave_sectors:{interleave}"), ic.mode != b'I');
    add(
        format!("buffer_sectors:{}", 1u32 << ic.log2_buffer_sectors),
        true,
    );
    if ic.mode == b'J' {
        let entries = u64::from(ic.journal_entries);
        let used = u64::from(ic.journal_entries - ic.free_sectors_threshold) * 100;
        add(format!("journal_sectors:{}", ic.initial_sectors - 8), true);
        add(
            format!("journal_watermark:{}", (used + entries / 2) / entries),
            true,
        );
        add(format!("commit_time:{}", ic.sync_msec), true);
    }
    if ic.mode == b'B' {
        let sectors = u64::from(ic.sectors_per_block) << ic.log2_blocks_per_bitmap_bit;
        let per_tick = 1000 / machine.ticks_per_second;
        let interval = ic.bitmap_flush_interval.wrapping_mul(per_tick);
        add(format!("sectors_per_bit:{sectors}"), true);
        add(format!("bitmap_flush_interval:{interval}"), true);
    }
    add("fix_padding".into(), flag(8));
    add("fix_hmac".into(), flag(0x10));
    add("legacy_recalculate".into(), ic.legacy_recalculate);
    alg("internal_hash", ic.internal_hash_alg.as_ref(), &mut words);
    alg("journal_crypt", ic.journal_crypt_alg.as_ref(), &mut words);
    alg("journal_mac", ic.journal_mac_alg.as_ref(), &mut words);
    let mode = char::from(ic.mode);
    let (dev, count) = (name(ic.dev), words.len());
    format!(
        "{dev} {} {} {mode} {count} {}",
        ic.start,
        ic.tag_size,
        words.join(" ")
    )
}

/// What IMA gets, after name and version of the target.
pub fn ima(ic: &Ic, machine: &Machine) -> String {
    let yes = |on: bool| if on { 'y' } else { 'n' };
    let name = |dev: usize| machine.devices[dev].name.to_str().unwrap();
    let mut line = format!(
        ",dev_name={},start={},tag_size={},mode={}",
        name(ic.dev),
        ic.start,
        ic.tag_size,
        char::from(ic.mode)
    );
    if let Some(dev) = ic.meta_dev {
        line += &format!(",meta_device={}", name(dev));
    }
    if ic.sectors_per_block != 1 {
        line += &format!(",block_size={}", u32::from(ic.sectors_per_block) << 9);
    }
    line + &format!(
        ",recalculate={},allow_discards={},allow_discards_keyed={},fix_padding={},fix_hmac={}\
         ,legacy_recalculate={},journal_sectors={},interleave_sectors={},buffer_sectors={};",
        yes(ic.sb.flags & 2 != 0),
        yes(ic.discard),
        yes(ic.discard_keyed),
        yes(ic.sb.flags & 8 != 0),
        yes(ic.sb.flags & 0x10 != 0),
        yes(ic.legacy_recalculate),
        ic.initial_sectors - 8,
        1u32 << ic.sb.log2_interleave_sectors,
        1u32 << ic.log2_buffer_sectors,
    )
}
