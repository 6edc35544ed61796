// SPDX-License-Identifier: GPL-2.0

//! The status buffer: row X-11.

use dm::target::status::Status;
use proptest::prelude::*;

/// `DMEMIT("%s", text)` as dm core has it, over a buffer of `result.len()` bytes.
fn dmemit(result: &mut [u8], length: &mut usize, text: &[u8]) {
    if *length >= result.len() {
        return;
    }
    let room = result.len() - *length;
    let copied = text.len().min(room - 1);
    result[*length..*length + copied].copy_from_slice(&text[..copied]);
    result[*length + copied] = 0;
    *length += copied;
}

/// Whether `retrieve_status()` takes the buffer for full.
fn core_says_full(result: &[u8]) -> bool {
    let length = result.iter().position(|&byte| byte == 0).unwrap() + 1;
    length == result.len()
}

#[test]
fn text_that_fits() {
    let mut buffer = [0xff; 8];
    let mut status = Status::new(&mut buffer);
    status.emit(format_args!("{} {}", 12, 'V'));
    status.bytes(b"-");
    assert_eq!(status.as_bytes(), b"12 V-");
    assert_eq!(status.needed(), 5);
    assert!(!status.is_truncated());
    assert!(!status.is_full());
    assert_eq!(buffer, *b"12 V-\0\xff\xff");
}

#[test]
fn text_that_just_fits_looks_full_to_core() {
    let mut buffer = [0xff; 4];
    let mut status = Status::new(&mut buffer);
    status.bytes(b"abc");
    assert!(!status.is_truncated());
    assert!(status.is_full());
    assert!(core_says_full(&buffer));
}

#[test]
fn text_is_cut_and_nothing_follows() {
    let mut buffer = [0xff; 4];
    let mut status = Status::new(&mut buffer);
    status.emit(format_args!("{}", "abcdef"));
    status.hex(&[0x12]);
    status.bytes(b"");
    assert_eq!(status.as_bytes(), b"abc");
    assert_eq!(status.needed(), 8);
    assert!(status.is_truncated());
    assert_eq!(buffer, *b"abc\0");
}

#[test]
fn nothing_written_is_an_empty_string() {
    let mut buffer = [0xff; 2];
    assert_eq!(Status::new(&mut buffer).as_bytes(), b"");
    assert_eq!(buffer, [0, 0xff]);
}

#[test]
fn no_room_at_all() {
    let mut status = Status::new(&mut []);
    status.bytes(b"a");
    status.emit(format_args!("{}", 1));
    assert_eq!(status.as_bytes(), b"");
    assert_eq!(status.needed(), 2);
    assert!(status.is_truncated());
    assert!(status.is_full());

    let mut buffer = [0xff];
    let mut status = Status::new(&mut buffer);
    status.bytes(b"a");
    assert_eq!(status.as_bytes(), b"");
    assert!(status.is_full());
    assert_eq!(buffer, [0]);
}

#[test]
fn name_and_version() {
    let mut buffer = [0; 64];
    let mut status = Status::new(&mut buffer);
    status.target_name_version(b"verity", [1, 13, 0]);
    assert_eq!(
        status.as_bytes(),
        b"target_name=verity,target_version=1.13.0"
    );
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn any_text_is_written_as_by_dmemit(
        texts in prop::collection::vec("[a-z ]{0,9}", 0..8),
        size in 0..40usize,
    ) {
        let mut ours = vec![0xff; size];
        let mut theirs = vec![0xff; size];
        let mut length = 0;
        let mut status = Status::new(&mut ours);
        if let Some(first) = theirs.first_mut() {
            *first = 0;
        }
        for (index, text) in texts.iter().enumerate() {
            match index % 3 {
                0 => status.bytes(text.as_bytes()),
                1 => status.emit(format_args!("{text}")),
                _ => status.hex(text.as_bytes()),
            }
            let text = match index % 3 {
                2 => text.bytes().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")),
                _ => text.clone(),
            };
            dmemit(&mut theirs, &mut length, text.as_bytes());
        }
        prop_assert_eq!(status.as_bytes().len(), length);
        let (full, truncated, needed) = (status.is_full(), status.is_truncated(), status.needed());
        prop_assert_eq!(&ours, &theirs);
        prop_assert_eq!(truncated, needed > length);
        prop_assert_eq!(full, size == 0 || core_says_full(&ours));
        prop_assert!(!truncated || full);
    }
}
