// SPDX-License-Identifier: GPL-2.0

//! Messages: rows C-37 to C-39.

use crypt::message::{
    parse,
    Message,
    Refused, //
};
use dm::target::args::Args;
use model::words;

fn message(line: &str, suspended: bool) -> Result<Option<u32>, Refused> {
    let words = words::split(line.as_bytes());
    match parse(Args::new(&words[..]), suspended, 2)? {
        Message::SetKey(word) => Ok(Some(word.size())),
        Message::WipeKey => Ok(None),
    }
}

#[test]
fn messages() {
    assert_eq!(message("key wipe", true), Ok(None));
    assert_eq!(message("KEY Wipe", true), Ok(None));
    assert_eq!(message("key set 0123", true), Ok(Some(2)));
    assert_eq!(message("Key SET :2:logon:a", true), Ok(Some(2)));
    // An odd digit more is no digit.
    assert_eq!(message("key set 01234", true), Ok(Some(2)));
}

#[test]
fn sizes_of_keys() {
    for key in ["01", "012345", "-", ":3:logon:a", ":x:logon:a", ":2"] {
        let line = format!("key set {key}");
        assert_eq!(message(&line, true), Err(Refused::KeySize), "{line}");
    }
    assert!(Refused::KeySize.text().is_none());
}

#[test]
fn unknown_messages() {
    for line in ["", "key", "wipe", "keys wipe", "wipe key", "set 0123"] {
        for suspended in [false, true] {
            assert_eq!(
                message(line, suspended),
                Err(Refused::Unrecognised),
                "{line}"
            );
        }
    }
    // Whether these are known is asked after whether the device is suspended.
    for line in [
        "key set",
        "key wipe x",
        "key set 0123 x",
        "key x",
        "key wipes",
        "key set 0123 ",
    ] {
        let expected = match line {
            "key set 0123 " => Ok(Some(2)),
            _ => Err(Refused::Unrecognised),
        };
        assert_eq!(message(line, true), expected, "{line}");
        assert_eq!(message(line, false), Err(Refused::NotSuspended), "{line}");
    }
    assert_eq!(message("key wipe", false), Err(Refused::NotSuspended));
    assert_eq!(message("key set 01", false), Err(Refused::NotSuspended));
}

#[test]
fn texts() {
    assert_eq!(
        Refused::NotSuspended.text(),
        Some(c"not suspended during key manipulation.")
    );
    assert_eq!(
        Refused::Unrecognised.text(),
        Some(c"unrecognised message received.")
    );
}
