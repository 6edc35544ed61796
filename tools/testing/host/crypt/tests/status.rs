// SPDX-License-Identifier: GPL-2.0

//! What a device prints: rows C-35, C-36, X-10 and X-11.

use crypt_model::{
    compare::{
        table,
        table_line, //
    },
    tables::{
        self,
        fine,
        line,
        KEY, //
    },
    Machine,
};
use dm::target::status::Status;

#[track_caller]
fn prints(given: &str, printed: &str) {
    let config = fine(&line(given));
    let seen = table_line(&config, &Machine::default(), 4096);
    assert_eq!(String::from_utf8(seen).unwrap(), printed);
}

#[track_caller]
fn prints_itself(table: &str) {
    prints(table, table);
}

#[test]
fn tables_as_given() {
    let key = KEY.to_lowercase();
    prints_itself(&format!("aes-cbc-plain64 {key} 8 7:0 16"));
    prints(
        &format!("aes-cbc-plain64 {KEY}0 08 7:0 016 0"),
        &format!("aes-cbc-plain64 {key} 8 7:0 16"),
    );
    prints_itself("cipher_null-ecb - 0 7:0 0");
    prints_itself("aes-cbc-plain :32:logon:b:c 0 7:0 0 1 allow_discards");
    prints_itself(&format!(
        "aes {key} 18446744073709551615 7:0 18446744073709551615"
    ));
}

#[test]
fn options_in_order() {
    let key = KEY.to_lowercase();
    let fixed = format!("aes-cbc-plain64 {key} 8 7:0 16");
    prints(
        &format!(
            "{fixed} 9 iv_large_sectors sector_size:4096 integrity:8:None NO_WRITE_WORKQUEUE \
             no_read_workqueue submit_from_crypt_cpus high_priority same_cpu_crypt allow_discards"
        ),
        &format!(
            "{fixed} 9 allow_discards same_cpu_crypt high_priority submit_from_crypt_cpus \
             no_read_workqueue no_write_workqueue integrity:8:None sector_size:4096 \
             iv_large_sectors"
        ),
    );
    for option in [
        "allow_discards",
        "same_cpu_crypt",
        "high_priority",
        "submit_from_crypt_cpus",
        "no_read_workqueue",
        "no_write_workqueue",
        "integrity:480:none",
        "sector_size:1024",
        "iv_large_sectors",
        "integrity_key_size:7",
    ] {
        prints_itself(&format!("{fixed} 1 {option}"));
    }
    prints(&format!("{fixed} 1 sector_size:512"), &fixed);
}

#[test]
fn zones_set_an_option() {
    let key = KEY.to_lowercase();
    let fixed = format!("aes-cbc-plain64 {key} 8 7:2 16");
    prints(&fixed, &format!("{fixed} 1 no_write_workqueue"));
}

fn ima(table_line: &str) -> String {
    let config = fine(&line(table_line));
    let machine = Machine::default();
    let mut buffer = vec![0; 4096];
    let mut status = Status::new(&mut buffer);
    table(&config, &machine).emit_ima(&mut status, b"crypt", [1, 29, 0]);
    String::from_utf8(status.as_bytes().to_vec()).unwrap()
}

#[test]
fn measurements() {
    assert_eq!(
        ima(&format!("aes-cbc-plain64 {KEY} 8 7:0 16")),
        "target_name=crypt,target_version=1.29.0,allow_discards=n,same_cpu_crypt=n,\
         high_priority=n,submit_from_crypt_cpus=n,no_read_workqueue=n,no_write_workqueue=n,\
         iv_large_sectors=n,cipher_string=aes-cbc-plain64,key_size=32,key_parts=1,\
         key_extra_size=0,key_mac_size=0;"
    );
    let key = tables::hex_key(96);
    assert_eq!(
        ima(&format!(
            "capi:authenc(hmac(sha256),xts(aes))-random {key} 0 7:1 0 3 allow_discards \
             iv_large_sectors integrity:48:AEAD"
        )),
        "target_name=crypt,target_version=1.29.0,allow_discards=y,same_cpu_crypt=n,\
         high_priority=n,submit_from_crypt_cpus=n,no_read_workqueue=n,no_write_workqueue=n,\
         iv_large_sectors=y,integrity_tag_size=48,cipher_auth=AEAD,\
         cipher_string=capi:authenc(hmac(sha256),xts(aes))-random,key_size=96,key_parts=1,\
         key_extra_size=0,key_mac_size=32;"
    );
    let seen = ima(&format!("aes-cbc-plain64 {KEY} 0 7:0 0 1 sector_size:4096"));
    assert!(seen.contains(",iv_large_sectors=n,sector_size=4096,cipher_string="));
    assert!(!seen.contains("0001"));
}
