// SPDX-License-Identifier: GPL-2.0

//! What the C target did with hundreds of tables and superblocks, by the files under test and by
//! the reference: rows I-01 to I-34, I-36, I-37, I-41 to I-43. `golden/make.py` has made the file.

use dm::{
    errno::Errno,
    target::status::Status, //
};
use integrity::{
    status::emit_info,
    superblock::AREA, //
};
use integrity_model::{
    compare::{
        compare,
        table_line,
        Opened, //
    },
    machine::ENOSYS,
    Machine, //
};

const GOLDEN: &str = include_str!("golden/corpus/formats.txt");

fn hex(digits: &str) -> Vec<u8> {
    model::words::hex(digits.as_bytes()).unwrap()
}

/// Where the superblock is, by the table.
fn kept_on(table: &str) -> usize {
    usize::from(table.contains(" meta_device:7:1"))
}

/// The words of a case.
#[derive(Default)]
struct Case {
    sizes: Vec<u64>,
    area: Vec<String>,
    length: u64,
    table: String,
    outcome: Vec<(String, String)>,
}

impl Case {
    fn new(text: &str) -> Self {
        let mut case = Self::default();
        for line in text.lines() {
            let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
            match name {
                "devices" => case.sizes = rest.split(' ').map(|n| n.parse().unwrap()).collect(),
                "area" => case.area = rest.split(' ').map(String::from).collect(),
                "table" => {
                    let (length, table) = rest.split_once(' ').unwrap();
                    case.length = length.parse().unwrap();
                    case.table = table.into();
                }
                _ => case.outcome.push((name.into(), rest.into())),
            }
        }
        case
    }

    fn outcome(&self, name: &str) -> Option<&str> {
        let mut outcome = self.outcome.iter();
        outcome.find(|(n, _)| n == name).map(|(_, rest)| &**rest)
    }

    /// The superblock area before: zeros, or what there was with some changes.
    fn area(&self, kept: &[u8]) -> Vec<u8> {
        if self.area == ["blank"] {
            return vec![0; AREA];
        }
        let mut area = kept.to_vec();
        for edit in self.area[1..].iter().filter(|edit| !edit.is_empty()) {
            let (at, bytes) = edit.split_once('=').unwrap();
            let (at, bytes) = (at.parse::<usize>().unwrap(), hex(bytes));
            area[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        area
    }

    fn machine(&self) -> Machine {
        let mut machine = Machine {
            target_sectors: self.length,
            ..Machine::default()
        };
        machine.devices[2].profile = None;
        for (device, sectors) in machine.devices.iter_mut().zip(&self.sizes) {
            device.sectors = *sectors;
        }
        machine
    }
}

fn info(opened: &Opened) -> String {
    let mut buffer = [0; 128];
    let mut status = Status::new(&mut buffer);
    let provided = opened.volume.layout.provided_data_sectors();
    let recalculation = opened.volume.superblock.recalculation();
    emit_info(&mut status, 0, provided, recalculation);
    String::from_utf8(status.as_bytes().to_vec()).unwrap()
}

/// The area after, with the salt that C took where there is one.
fn written(opened: &Opened, before: &[u8], wanted: &[u8]) -> Vec<u8> {
    let mut area = before.to_vec();
    if opened.volume.new {
        let mut superblock = opened.volume.superblock;
        if superblock.has_fixed_hmac() {
            assert_ne!(wanted[48..64], [0; 16]);
            superblock.salt.copy_from_slice(&wanted[48..64]);
        }
        superblock.version =
            superblock.version_to_write(opened.config.mode, opened.volume.layout.has_meta_device());
        superblock.write_to(&mut area);
    }
    area
}

/// The table as C prints it, with buffers that are not larger than areas: C writes tags over data
/// where they are.
fn corrected(line: &str, opened: &Opened) -> String {
    let interleave = opened.volume.layout.interleave_sectors();
    let words = line.split(' ').map(|word| {
        match word.strip_prefix("buffer_sectors:").map(str::parse::<u32>) {
            Some(Ok(buffer)) if interleave != 1 && interleave < buffer => {
                format!("buffer_sectors:{interleave}")
            }
            _ => word.into(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn as_c_does() {
    // What is on either device; C left it there.
    let mut kept = [vec![0; AREA], vec![0; AREA]];
    let (mut accepted, mut refused) = (0, 0);
    for text in GOLDEN.split("\n\n").skip(1) {
        let case = Case::new(text);
        let table = model::words::split(case.table.as_bytes());
        let kept = &mut kept[kept_on(&case.table)];
        let before = case.area(kept);
        let found = compare(&table, &case.machine(), &before);
        *kept = before.clone();
        let Some(line) = case.outcome("ok") else {
            let (text, number) = match found {
                Err(refusal) => refusal,
                Ok(_) => panic!("accepted, but C did not: {text}"),
            };
            let name = match number {
                ENOSYS => "ENOSYS",
                _ => Errno::from_return(-number).name().unwrap(),
            };
            assert_eq!(Some(&*format!("{name} {text}")), case.outcome("fail"));
            refused += 1;
            continue;
        };
        let opened = found.unwrap_or_else(|error| panic!("{error:?} refused: {text}"));
        assert_eq!(table_line(&opened), corrected(line, &opened), "{text}");
        assert_eq!(info(&opened), case.outcome("info").unwrap(), "{text}");
        match case.outcome("superblock").unwrap() {
            "-" => {}
            digits => {
                let wanted = hex(digits);
                let area = written(&opened, &before, &wanted);
                assert_eq!(area[..64], wanted[..], "{text}");
                kept[..64].copy_from_slice(&wanted);
            }
        }
        accepted += 1;
    }
    assert!(accepted > 250 && refused > 80, "{accepted} and {refused}");
}
