// SPDX-License-Identifier: GPL-2.0

//! Opens volumes by the files under test and by the reference, and compares.

use std::ffi::CString;

use dm::target::{
    args::{
        Args,
        TableError, //
    },
    status::Status,
};
use integrity::{
    options::{
        to_milliseconds,
        Algorithm,
        Discards, //
    },
    status::Table,
    superblock::AREA,
    table::{
        parse,
        Config, //
    },
    volume::Volume,
};

use crate::{
    reference::{
        limits,
        line,
        table,
        AlgSpec,
        Ic,
        Refusal,
        Sb, //
    },
    Machine,
};

/// The random bytes of all salts.
pub const SALT: [u8; 16] = *b"0123456789abcdef";

/// An error as the reference has it.
pub fn refusal(error: TableError) -> Refusal {
    (error.text.to_str().unwrap().into(), error.errno.number())
}

/// A volume that was opened.
pub struct Opened {
    /// The table.
    pub config: Config<Machine>,
    /// What the superblock made of it.
    pub volume: Volume,
    /// The machine.
    pub machine: Machine,
}

/// Opens a volume by the files under test.
pub fn open(words: &[CString], machine: &Machine, area: &[u8]) -> Result<Opened, Refusal> {
    let mut machine = machine.clone();
    let config = parse(Args::new(words), &mut machine).map_err(refusal)?;
    let request = config.request(machine.target_sectors);
    let volume = Volume::open(area, &request, || SALT).map_err(refusal)?;
    Ok(Opened {
        config,
        volume,
        machine,
    })
}

/// Opens a volume by the reference.
pub fn reference(words: &[CString], machine: &Machine, area: &[u8]) -> Result<Ic, Refusal> {
    let mut machine = machine.clone();
    let mut ic = table::words(words, &mut machine)?;
    table::hashes(&mut ic, &mut machine)?;
    limits::open(&mut ic, area, &machine, SALT)?;
    Ok(ic)
}

fn spec(algorithm: Option<&Algorithm<Vec<u8>>>) -> Option<AlgSpec> {
    algorithm.map(|algorithm| AlgSpec {
        alg_string: algorithm.name().into(),
        key_string: algorithm.key_hex().map(<[u8]>::to_vec),
        key: algorithm.key().map(<[u8]>::to_vec),
    })
}

/// An opened volume as the reference has it.
pub fn summary(opened: &Opened) -> Ic {
    let Opened { config, volume, .. } = opened;
    let (options, layout) = (&config.options, &volume.layout);
    let journal = layout.journal();
    let sb = volume.superblock;
    Ic {
        dev: config.device,
        meta_dev: options.meta_device,
        start: config.devices.start,
        tag_size: config.tag_size.bytes().into(),
        tuple_size: config.tuple_bytes,
        mode: config.mode.letter() as u8,
        journal_sectors: options.journal_sectors.unwrap_or_else(|| {
            (config.devices.data_sectors >> 7).min(131_072) as u32 //
        }),
        interleave_sectors: options.interleave_sectors,
        journal_watermark: options.journal_watermark.into(),
        sync_msec: options.commit_time,
        log2_sectors_per_bitmap_bit: options.log2_sectors_per_bit.map_or(-1, |log2| log2 as i8),
        bitmap_flush_interval: options.bitmap_flush_ticks,
        sectors_per_block: options.block.sectors() as u8,
        log2_buffer_sectors: layout.log2_buffer_sectors(),
        internal_hash_alg: spec(options.internal_hash.as_ref()),
        journal_crypt_alg: spec(options.journal_crypt.as_ref()),
        journal_mac_alg: spec(options.journal_mac.as_ref()),
        recalculate_flag: options.recalculate,
        reset_recalculate_flag: options.reset_recalculate,
        discard: options.discards != Discards::None,
        discard_keyed: options.discards == Discards::Keyed,
        fix_padding: options.fix_padding,
        fix_hmac: options.fix_hmac,
        legacy_recalculate: options.legacy_recalculate,
        data_device_sectors: config.devices.data_sectors,
        meta_device_sectors: config.devices.metadata_sectors(),
        sb: Sb {
            version: sb.version,
            log2_interleave_sectors: sb.log2_interleave_sectors,
            integrity_tag_size: sb.tag_size,
            journal_sections: sb.journal_sections,
            provided_data_sectors: sb.provided_data_sectors,
            flags: sb.flags.bits(),
            log2_sectors_per_block: sb.log2_sectors_per_block,
            log2_blocks_per_bitmap_bit: sb.log2_blocks_per_bitmap_bit,
            recalc_sector: sb.recalc_sector,
            salt: sb.salt,
        },
        should_write_sb: volume.new,
        journal_entry_size: journal.entry_bytes(),
        journal_section_entries: journal.section_entries(),
        journal_section_sectors: journal.section_sectors(),
        journal_sections: journal.sections(),
        journal_entries: journal.entries() as u32,
        initial_sectors: layout.initial_sectors(),
        // C counts one sector that is not there with a device for metadata.
        metadata_run: match layout.has_meta_device() {
            true => 1,
            false => (layout.data_start() - layout.tags_start()) as u32,
        },
        provided_data_sectors: layout.provided_data_sectors(),
        log2_blocks_per_bitmap_bit: volume.bitmap.log2_blocks_per_bit(),
        n_bitmap_blocks: volume.bitmap.blocks(),
        free_sectors_threshold: journal.free_threshold(options.journal_watermark),
    }
}

/// Opens a volume by both, and compares all that came of it.
pub fn compare(words: &[CString], machine: &Machine, area: &[u8]) -> Result<Opened, Refusal> {
    let opened = open(words, machine, area);
    let mut wanted = reference(words, machine, area);
    if let Ok(ic) = &mut wanted {
        // The one difference, see `Shape::align_buffers`.
        if ic.meta_dev.is_none() && ic.mode != b'I' {
            let interleave = ic.sb.log2_interleave_sectors;
            ic.log2_buffer_sectors = ic.log2_buffer_sectors.min(interleave);
        }
    }
    let found = opened.as_ref().map(summary);
    match (&found, &wanted) {
        (Ok(found), Ok(wanted)) => assert_eq!(found, wanted, "{words:?} {machine:?}"),
        (Err(found), Err(wanted)) => assert_eq!(*found, wanted, "{words:?} {machine:?}"),
        _ => panic!("{found:?} instead of {wanted:?}: {words:?} {machine:?}"),
    }
    if let (Ok(opened), Ok(ic)) = (&opened, &wanted) {
        places(opened, ic);
        assert_eq!(table_line(opened), line::table(ic, machine));
        let ima = ima_line(opened);
        let start = "target_name=integrity,target_version=1.15.0";
        assert_eq!(ima.strip_prefix(start).unwrap(), line::ima(ic, machine));
    }
    opened
}

/// Compares the places of blocks at the start and the end of areas and of the volume.
fn places(opened: &Opened, ic: &Ic) {
    let layout = &opened.volume.layout;
    let block = u64::from(ic.sectors_per_block);
    let end = ic.provided_data_sectors;
    let interleave = 1u64 << ic.sb.log2_interleave_sectors;
    for sector in [0, interleave, 2 * interleave, end / 2, end] {
        for sector in [sector.saturating_sub(block), sector] {
            let sector = sector / block * block;
            if sector >= end {
                continue;
            }
            if ic.mode == b'I' {
                // C lets a start pass that is beyond all devices: no superblock is read there.
                let wanted = ic.start.checked_add(8 + sector).unwrap_or(u64::MAX);
                assert_eq!(layout.data_sector(sector), wanted);
                continue;
            }
            assert_eq!(
                layout.data_sector(sector),
                limits::get_data_sector(ic, sector)
            );
            let tag = layout.tag_position(sector);
            let wanted = limits::get_metadata_sector_and_offset(ic, sector);
            assert_eq!((tag.buffer, tag.offset), wanted);
        }
    }
}

fn status_table<'a>(opened: &'a Opened, dev: &'a [u8], meta: &'a [u8]) -> Table<'a, Vec<u8>> {
    let Opened {
        config,
        volume,
        machine,
    } = opened;
    let options = &config.options;
    Table {
        device: dev,
        meta_device: options.meta_device.map(|_| meta),
        superblock: &volume.superblock,
        layout: &volume.layout,
        bitmap: &volume.bitmap,
        reset_recalculate: options.reset_recalculate,
        discards: options.discards,
        legacy_recalculate: options.legacy_recalculate,
        free_threshold: volume
            .layout
            .journal()
            .free_threshold(options.journal_watermark),
        commit_time: options.commit_time,
        bitmap_flush_interval: to_milliseconds(
            options.bitmap_flush_ticks,
            machine.ticks_per_second,
        ),
        internal_hash: options.internal_hash.as_ref(),
        journal_crypt: options.journal_crypt.as_ref(),
        journal_mac: options.journal_mac.as_ref(),
    }
}

fn emit(opened: &Opened, emit: impl Fn(&Table<'_, Vec<u8>>, &mut Status<'_>)) -> String {
    let name = |device: usize| opened.machine.devices[device].name.to_bytes();
    let meta = opened.config.options.meta_device.map_or(&b""[..], name);
    let mut buffer = vec![0; 65536];
    let mut status = Status::new(&mut buffer);
    emit(
        &status_table(opened, name(opened.config.device), meta),
        &mut status,
    );
    String::from_utf8_lossy(status.as_bytes()).into()
}

/// The table line of an opened volume.
pub fn table_line(opened: &Opened) -> String {
    emit(opened, |table, status| table.emit(status))
}

/// What IMA gets of it.
pub fn ima_line(opened: &Opened) -> String {
    emit(opened, |table, status| {
        table.emit_ima(status, b"integrity", [1, 15, 0]);
    })
}

/// The area of the superblock, with one written to it.
pub fn area(opened: &Opened) -> Vec<u8> {
    let mut area = vec![0; AREA];
    opened.volume.superblock.write_to(&mut area);
    area
}
