// SPDX-License-Identifier: GPL-2.0

//! What the C target does with the words about cipher and key.

use std::ffi::CString;

use model::words::{
    hex,
    is_space,
    number, //
};

use crate::{
    machine::{
        Call,
        Cipher, //
    },
    reference::{
        find,
        invalid,
        or,
        refuse,
        Accepted,
        Refusal, //
    },
    Machine,
};

const ENOENT: i32 = 2;
const ENOMEM: i32 = 12;
const EINVAL: i32 = 22;

/// What a word for a cipher says.
#[derive(Default)]
struct Parts {
    /// The name for the crypto API, but for essiv.
    name: Vec<u8>,
    keys: u32,
    iv: Option<Vec<u8>>,
    options: Option<Vec<u8>>,
}

/// strsep(): cuts the next token off a string.
fn strsep(text: &mut Option<Vec<u8>>, separator: u8) -> Option<Vec<u8>> {
    let token = text.take()?;
    match find(&token, separator) {
        Some(at) => {
            *text = Some(token[at + 1..].to_vec());
            Some(token[..at].to_vec())
        }
        None => Some(token),
    }
}

/// strrchr(), and cuts the string there.
fn cut_last(text: &mut Vec<u8>, separator: u8) -> Option<Vec<u8>> {
    let at = text.iter().rposition(|&byte| byte == separator)?;
    let rest = text[at + 1..].to_vec();
    text.truncate(at);
    Some(rest)
}

fn old_form(word: &[u8], aead: bool) -> Result<Parts, Refusal> {
    if find(word, b'(').is_some() || aead {
        return invalid("Bad cipher specification");
    }
    let mut rest = Some(word.to_vec());
    let mut first = strsep(&mut rest, b'-');
    let cipher = strsep(&mut first, b':').unwrap();
    let keys = match first {
        None => Some(1),
        Some(keys) => number(&keys).map(|keys| (keys % (1 << 32)) as u32),
    };
    let keys = match keys {
        Some(keys) if keys.count_ones() == 1 => keys,
        _ => return invalid("Bad cipher key count specification"),
    };
    let mut chaining = strsep(&mut rest, b'-');
    let mut iv = strsep(&mut rest, b':');
    if chaining.is_none() || chaining.as_deref() == Some(b"plain") && iv.is_none() {
        chaining = Some(b"cbc".to_vec());
        iv = Some(b"plain".to_vec());
    }
    let chaining = chaining.unwrap();
    if chaining != b"ecb" && iv.is_none() {
        return invalid("IV mechanism required");
    }
    Ok(Parts {
        name: [&chaining[..], b"(", &cipher, b")"].concat(),
        keys,
        iv,
        options: rest,
    })
}

/// With the size of the key of the message authentication code, if it is an `authenc()`.
fn new_form(
    word: &[u8],
    table: &mut Accepted,
    machine: &mut Machine,
) -> Result<(Parts, bool), Refusal> {
    let mut name = word.to_vec();
    let options = cut_last(&mut name, b':');
    let iv = cut_last(&mut name, b'-');
    let mut authenc = false;
    if table.aead && name.starts_with(b"authenc(") {
        let text = "Invalid AEAD cipher spec";
        let Some(comma) = find(&name, b',') else {
            return invalid(text);
        };
        let mac = &name[b"authenc(".len()..comma];
        if mac.len() > 127 {
            return refuse(text, ENOENT);
        }
        let digest = or(machine.mac(&CString::new(mac).unwrap()), text)?;
        table.layout[4] = table.mac_key_size.unwrap_or(digest);
        or(machine.secret(table.key.len() + 8), text)?;
        authenc = true;
    }
    let mut keys = 1;
    if iv.as_deref() == Some(b"lmk") {
        if table.aead {
            return invalid("AEAD transforms not supported for LMK");
        }
        keys = 64;
    }
    let parts = Parts {
        name,
        keys,
        iv,
        options,
    };
    Ok((parts, authenc))
}

/// Returns the bytes of the IV that are stored with each sector.
pub(crate) fn encryption(
    key: &[u8],
    table: &mut Accepted,
    machine: &mut Machine,
) -> Result<u32, Refusal> {
    or(
        machine.allocate(table.cipher.len()),
        "Cannot allocate cipher strings",
    )?;
    table.layout[0] = table.key.len() as u32;
    table.layout[4] = table.mac_key_size.unwrap_or(0);
    let word = table.cipher.clone();
    let (parts, authenc, too_long) = match word.strip_prefix(b"capi:") {
        Some(rest) => {
            let (parts, authenc) = new_form(rest, table, machine)?;
            (parts, authenc, "Cannot allocate cipher string")
        }
        None => (
            old_form(&word, table.aead)?,
            false,
            "Cannot allocate cipher strings",
        ),
    };
    let mut name = parts.name.clone();
    let essiv = parts.iv.as_deref() == Some(b"essiv");
    if essiv {
        let Some(digest) = &parts.options else {
            return invalid("Digest algorithm missing for ESSIV mode");
        };
        name = [b"essiv(", &name[..], b",", digest, b")"].concat();
    }
    if name.len() > 127 {
        // Other names of the second form go to the crypto API whatever their length.
        if essiv || !word.starts_with(b"capi:") {
            return refuse(too_long, ENOMEM);
        }
        return refuse("Error allocating crypto tfm", ENOENT);
    }
    let cipher = or(
        machine.cipher(&CString::new(name).unwrap(), parts.keys, table.aead),
        "Error allocating crypto tfm",
    )?;
    table.layout[1] = parts.keys;
    table.layout[2] = parts.keys;
    let mode = mode(&parts, cipher, table, machine)?;
    or(
        set_key(key, authenc, cipher, table, machine),
        "Error decoding and setting key",
    )?;
    if let Some(mode) = &mode {
        create_iv(mode, cipher, table, machine)?;
    }
    if table.reference.is_some() {
        table.key.fill(0);
    }
    Ok(match mode.as_deref() {
        Some("random") => table.iv_size,
        _ => 0,
    })
}

fn mode(
    parts: &Parts,
    cipher: &Cipher,
    table: &mut Accepted,
    machine: &mut Machine,
) -> Result<Option<String>, Refusal> {
    const MODES: [&str; 11] = [
        "plain",
        "plain64",
        "plain64be",
        "essiv",
        "benbi",
        "null",
        "eboiv",
        "elephant",
        "lmk",
        "tcw",
        "random",
    ];

    if cipher.iv_size == 0 {
        if parts.iv.is_some() {
            machine.log("Selected cipher does not support IVs");
        }
        return Ok(None);
    }
    table.iv_size = cipher.iv_size.max(8);
    let Some(word) = &parts.iv else {
        return Ok(None);
    };
    let Some(mode) = MODES.iter().find(|mode| mode.as_bytes() == word) else {
        return invalid("Invalid IV mode");
    };
    let [size, _, key_parts, extra, _] = &mut table.layout;
    match *mode {
        "elephant" => {
            *key_parts = 2;
            *extra = *size / 2;
            if *extra > 32 {
                return invalid("Unknown error");
            }
        }
        "lmk" if *size % *key_parts != 0 => {
            *key_parts += 1;
            *extra = *size / *key_parts;
        }
        "tcw" => {
            *key_parts += 2;
            *extra = table.iv_size + 16;
        }
        _ => {}
    }
    Ok(Some((*mode).into()))
}

fn set_key(
    word: &[u8],
    authenc: bool,
    cipher: &Cipher,
    table: &mut Accepted,
    machine: &mut Machine,
) -> Result<(), i32> {
    let size = table.key.len();
    if size == 0 && word != b"-" {
        return Err(EINVAL);
    }
    if word.first() == Some(&b':') {
        let name = &word[1..];
        if name.iter().any(|&byte| is_space(byte)) {
            machine.log("whitespace chars not allowed in key string");
            return Err(EINVAL);
        }
        let (kind, description) = name.split_at(find(name, b':').ok_or(EINVAL)?);
        let description = CString::new(&description[1..]).unwrap();
        let kind = match kind {
            b"logon" => "logon",
            b"user" => "user",
            b"encrypted" if machine.types.0 => "encrypted",
            b"trusted" if machine.types.1 => "trusted",
            _ => return Err(EINVAL),
        };
        if description.is_empty() {
            return Err(EINVAL);
        }
        machine.allocate(name.len())?;
        table.key = machine.read_key(kind, &description, size)?;
        table.reference = Some(name.to_vec());
    } else if size > 0 {
        table.key = hex(&word[..size * 2]).ok_or(EINVAL)?;
    }
    install(authenc, cipher, table, machine)
}

fn install(
    authenc: bool,
    cipher: &Cipher,
    table: &Accepted,
    machine: &mut Machine,
) -> Result<(), i32> {
    let [size, transforms, _, extra, mac] = table.layout;
    if table.aead && mac != 0 && !authenc || extra > size {
        return Err(EINVAL);
    }
    let subkey = ((size - extra) / transforms) as usize;
    if authenc {
        let cipher_key = subkey.checked_sub(mac as usize).ok_or(EINVAL)?;
        let mut key = vec![8, 0, 1, 0];
        key.extend((cipher_key as u32).to_be_bytes());
        key.extend(&table.key[cipher_key..subkey]);
        key.extend(&table.key[..cipher_key]);
        return machine.set_key(cipher, 0, &key);
    }
    let mut result = Ok(());
    for index in 0..transforms as usize {
        let key = &table.key[index * subkey..][..subkey];
        // All get theirs, and the last error counts.
        if let Err(errno) = machine.set_key(cipher, index as u32, key) {
            result = Err(errno);
        }
    }
    result
}

fn create_iv(
    mode: &str,
    cipher: &Cipher,
    table: &mut Accepted,
    machine: &mut Machine,
) -> Result<(), Refusal> {
    let [size, transforms, parts, extra, _] = table.layout;
    let small = table.sector_size == 512;
    let block = cipher.block_size;
    let refusal = match mode {
        "benbi" if block.count_ones() != 1 => Some("cypher blocksize is not a power of 2"),
        "benbi" if block > 512 => Some("cypher blocksize is > 512"),
        "lmk" if !small => Some("Unsupported sector size for LMK"),
        "lmk" if machine.fips => Some("LMK support is disabled due to FIPS"),
        "lmk" if table.iv_size > 16 => Some("Unsupported IV size for LMK"),
        "tcw" if !small => Some("Unsupported sector size for TCW"),
        "tcw" if size <= table.iv_size + 16 => Some("Wrong key size for TCW"),
        "tcw" if table.iv_size > 16 => Some("Unsupported IV size for TCW"),
        "eboiv" | "elephant" if table.aead => Some("AEAD transforms not supported for EBOIV"),
        "eboiv" | "elephant" if block != table.iv_size => {
            Some("Block size of EBOIV cipher does not match IV size of block cipher")
        }
        _ => None,
    };
    if let Some(text) = refusal {
        machine.log(text);
        return invalid("Error creating IV");
    }
    let seeded = parts != transforms;
    let generator = match mode {
        "plain" => "Counter(Plain)".into(),
        "plain64" | "essiv" => "Counter(Plain64)".into(),
        "plain64be" => "Counter(Plain64be)".into(),
        "null" => "Counter(Null)".into(),
        "benbi" => {
            let shift = (0..).find(|shift| block << shift == 512).unwrap();
            format!("Counter(Benbi {{ shift: {shift} }})")
        }
        "lmk" => format!("Lmk {{ seeded: {seeded} }}"),
        "tcw" => "Tcw".into(),
        "random" => "Random".into(),
        "eboiv" => "Eboiv".into(),
        _ => "Elephant".into(),
    };
    or(
        machine.call(Call::CreateIv(generator.clone())),
        "Error creating IV",
    )?;
    table.iv = Some(generator);
    let key = &table.key;
    let secret = match mode {
        "lmk" if seeded => match key.get((size / parts * transforms) as usize..) {
            Some(rest) if rest.len() >= 16 => Some(&rest[..16]),
            _ => return invalid("Error initialising IV"),
        },
        "tcw" | "elephant" => Some(&key[(size - extra) as usize..]),
        _ => None,
    };
    match secret {
        Some(secret) => or(
            machine.iv_secret(secret, mode == "elephant"),
            "Error initialising IV",
        ),
        None => Ok(()),
    }
}
