// SPDX-License-Identifier: GPL-2.0

//! What is told about a corrupted block: rows V-55 and V-56.

use verity::report::{
    BlockKind,
    Corruption,
    MAX_REPORTS,
    REACHED_MAXIMUM,
    UEVENT_LENGTH, //
};

const DATA: Corruption = Corruption {
    kind: BlockKind::Data,
    block: 12,
};
const METADATA: Corruption = Corruption {
    kind: BlockKind::Metadata,
    block: u64::MAX,
};

#[test]
fn log_lines() {
    assert_eq!(format!("7:0: {DATA}"), "7:0: data block 12 is corrupted");
    assert_eq!(
        METADATA.to_string(),
        "metadata block 18446744073709551615 is corrupted"
    );
    assert_eq!(
        (MAX_REPORTS, REACHED_MAXIMUM),
        (100, "reached maximum errors")
    );
}

#[test]
fn uevents() {
    let mut buffer = [0xff; UEVENT_LENGTH];
    assert_eq!(DATA.uevent(&mut buffer), c"DM_VERITY_ERR_BLOCK_NR=0,12");
    // The longest there is, with its NUL, is as long as the buffer.
    let longest = c"DM_VERITY_ERR_BLOCK_NR=1,18446744073709551615";
    assert_eq!(METADATA.uevent(&mut buffer), longest);
    assert_eq!(longest.to_bytes_with_nul().len(), UEVENT_LENGTH);
}
