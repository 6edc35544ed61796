// SPDX-License-Identifier: GPL-2.0

//! Words for keys, and how keys are divided: rows C-03 to C-05, C-57, X-06 and X-10.

use std::{
    ffi::{
        CStr,
        CString, //
    },
    ops::{
        Deref,
        DerefMut, //
    },
};

use crypt::key::{
    KeyLayout,
    Malformed,
    Secret,
    Source,
    Type,
    Types,
    Word,
    AUTHENC_HEADER, //
};
use dm::errno::{
    Errno,
    EINVAL,
    EIO,
    ENOKEY, //
};
use proptest::prelude::*;

fn size(word: &str) -> Option<u32> {
    Word::parse(&CString::new(word).unwrap()).map(|word| word.size())
}

#[test]
fn sizes() {
    for (word, bytes) in [
        ("", 0),
        ("-", 0),
        ("0", 0),
        ("00", 1),
        ("000", 1),
        ("xyzw", 2),
        (":32:logon:a", 32),
        (": 032:logon:a", 32),
        (":4294967300:x", 4),
        (":2147483647:", 0x7fff_ffff),
        (":0:", 0),
    ] {
        assert_eq!(size(word), Some(bytes), "{word}");
    }
    for word in [
        ":",
        "::",
        ":32",
        ":x:",
        ":32x:logon:a",
        ":-1:logon:a",
        ":2147483648:logon:a",
        ":32 :",
        ":99999999999999999999:a",
    ] {
        assert_eq!(size(word), None, "{word}");
    }
}

fn source(word: &CStr) -> Result<Source<'_>, Malformed> {
    let all = Types {
        encrypted: true,
        trusted: true,
    };
    Word::parse(word).unwrap().source(all)
}

#[test]
fn digits() {
    let decode = |word: &CStr| {
        let Ok(Source::Hex(hex)) = source(word) else {
            panic!("no digits: {word:?}");
        };
        let mut out = vec![0xaa; Word::parse(word).unwrap().size() as usize];
        hex.decode(&mut out).map(|()| out)
    };
    assert_eq!(decode(c"00fFA9"), Ok(vec![0, 0xff, 0xa9]));
    // An odd last digit does not count, whatever it is.
    assert_eq!(decode(c"00ffx"), Ok(vec![0, 0xff]));
    assert_eq!(decode(c"0g"), Err(EINVAL));
    assert_eq!(decode(c"g0"), Err(EINVAL));
    assert_eq!(decode(c"--"), Err(EINVAL));
}

#[test]
fn no_key() {
    assert!(matches!(source(c"-"), Ok(Source::None)));
    for word in [c"", c"0", c"x", c":0:logon:a", c":0:"] {
        assert_eq!(source(word).unwrap_err(), Malformed::Other, "{word:?}");
    }
}

#[test]
fn keyrings() {
    for (word, kind, description) in [
        (c":1:logon:a", Type::Logon, c"a"),
        (c":1:user:a:b", Type::User, c"a:b"),
        (c":1:encrypted::", Type::Encrypted, c":"),
        (
            c":1:trusted:cryptsetup:x-d0",
            Type::Trusted,
            c"cryptsetup:x-d0",
        ),
    ] {
        let Ok(Source::Keyring(key)) = source(word) else {
            panic!("no key: {word:?}");
        };
        assert_eq!((key.kind, key.description), (kind, description));
        assert_eq!(key.name.to_bytes(), &word.to_bytes()[3..]);
    }
    for word in [
        c":1:logon",
        c":1:logon:",
        c":1::a",
        c":1:",
        c":1:LOGON:a",
        c":1:log:a",
    ] {
        assert_eq!(source(word).unwrap_err(), Malformed::Other, "{word:?}");
    }
    // White space wins over other faults.
    for word in [c":1:logon:a b", c":1: logon:a", c":1:x\ty", c":1:\xa0"] {
        assert_eq!(source(word).unwrap_err(), Malformed::WhiteSpace, "{word:?}");
    }
    assert!(Malformed::WhiteSpace.text().is_some());
    assert!(Malformed::Other.text().is_none());
}

#[test]
fn types_that_are_not_built_in() {
    let source = |word: &'static CStr, types| Word::parse(word).unwrap().source(types).is_ok();
    let none = Types::default();
    assert!(source(c":1:logon:a", none) && source(c":1:user:a", none));
    assert!(!source(c":1:encrypted:a", none) && !source(c":1:trusted:a", none));
}

#[test]
fn nothing_prints_a_key() {
    let word = Word::parse(c"deadbeef").unwrap();
    let source = word.source(Types::default()).unwrap();
    let printed = format!("{word:?} {source:?}");
    assert!(
        !printed.contains("dead") && !printed.contains("222"),
        "{printed}"
    );
    assert_eq!(format!("{word:?}"), "Word(4 bytes)");
}

/// Memory that tells whether it was wiped.
#[derive(Default)]
struct Memory {
    bytes: Vec<u8>,
    wiped: bool,
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Secret for Memory {
    fn wipe(&mut self) {
        self.bytes.fill(0);
        self.wiped = true;
    }
}

type Installed = (Result<(), Errno>, Vec<(u32, Vec<u8>)>);

fn install(layout: &KeyLayout, key: &[u8], memory: Option<&mut Memory>) -> Installed {
    let mut keys = Vec::new();
    let result = layout.install(key, memory, |index, key| {
        keys.push((index, key.to_vec()));
        Ok(())
    });
    (result, keys)
}

#[test]
fn keys_of_authenc() {
    let layout = KeyLayout::new(7, 1, 3, true);
    assert_eq!(layout.authenc_size(), Some(7 + AUTHENC_HEADER));
    let mut memory = Memory {
        bytes: vec![0xaa; 15],
        ..Memory::default()
    };
    let (result, keys) = install(&layout, &[1, 2, 3, 4, 5, 6, 7], Some(&mut memory));
    assert_eq!(result, Ok(()));
    // struct rtattr in the order of the machine, here that of x86.
    let mut expected = [8u16, 1].map(u16::to_ne_bytes).concat();
    expected.extend([0, 0, 0, 4, 5, 6, 7, 1, 2, 3, 4]);
    assert_eq!(keys, [(0, expected)]);
    assert!(memory.wiped);
    let (result, keys) = install(&KeyLayout::new(7, 1, 8, true), &[0; 7], Some(&mut memory));
    assert_eq!((result, keys.len()), (Err(EINVAL), 0));
    // All of it for the message authentication code.
    let (result, keys) = install(&KeyLayout::new(7, 1, 7, true), &[9; 7], Some(&mut memory));
    assert_eq!((result, &keys[0].1[4..8]), (Ok(()), &[0; 4][..]));
    // Where the memory is missing or too small, nothing is written beyond it.
    assert_eq!(install(&layout, &[0; 7], None).0, Err(EINVAL));
    memory.bytes.truncate(14);
    assert_eq!(install(&layout, &[0; 7], Some(&mut memory)).0, Err(EINVAL));
}

#[test]
fn all_transforms_are_tried() {
    let layout = KeyLayout::new(16, 4, 0, false);
    let key: Vec<u8> = (0..16).collect();
    let mut tried = Vec::new();
    let result = layout.install(&key, None::<&mut Memory>, |index, key| {
        tried.push((index, key[0]));
        match index {
            1 => Err(EIO),
            2 => Err(ENOKEY),
            _ => Ok(()),
        }
    });
    assert_eq!(result, Err(ENOKEY));
    assert_eq!(tried, [(0, 0), (1, 4), (2, 8), (3, 12)]);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_word_is_read_or_not(word in ":{0,2}[0-9a-g:. -]{0,20}") {
        let word = CString::new(word).unwrap();
        if let Some(parsed) = Word::parse(&word) {
            let size = parsed.size() as usize;
            match source(&word) {
                Ok(Source::Hex(hex)) => {
                    let mut out = vec![0; size];
                    let digits = &word.to_bytes()[..size * 2];
                    let valid = digits.iter().all(u8::is_ascii_hexdigit);
                    prop_assert_eq!(hex.decode(&mut out).is_ok(), valid);
                }
                Ok(Source::None) => prop_assert_eq!(word.as_c_str(), c"-"),
                Ok(Source::Keyring(_)) => prop_assert!(false, "there is no such type"),
                Err(_) => prop_assert!(size == 0 || word.to_bytes()[0] == b':'),
            }
        } else {
            prop_assert!(word.to_bytes().starts_with(b":"));
        }
    }

    #[test]
    fn subkeys_are_the_key(shift in 0..7u32, part in 0..40usize, rest in 0..40u32) {
        let transforms = 1 << shift;
        let size = part * transforms as usize + rest as usize;
        let key: Vec<u8> = (0..size).map(|n| n as u8).collect();
        let layout = KeyLayout { extra: rest, ..KeyLayout::new(size as u32, transforms, 0, false) };
        let (result, keys) = install(&layout, &key, None);
        prop_assert_eq!(result, Ok(()));
        prop_assert_eq!(keys.len(), transforms as usize);
        let joined: Vec<u8> = keys.into_iter().flat_map(|(_, key)| key).collect();
        prop_assert_eq!(&joined[..], &key[..part * transforms as usize]);
    }
}
