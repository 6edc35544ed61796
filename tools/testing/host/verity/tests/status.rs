// SPDX-License-Identifier: GPL-2.0

//! The three forms of the status: rows V-42 to V-44.

use dm::target::status::Status;
use verity::{
    hash_tree::{
        BlockSize,
        Sizes,
        Version, //
    },
    options::{
        CorruptionMode,
        ErrorMode, //
    },
    status::{
        emit_info,
        Fec,
        Table, //
    },
};

fn sizes() -> Sizes {
    Sizes {
        data_blocks: 262144,
        data_block: BlockSize::from_bytes(4096).unwrap(),
        hash_block: BlockSize::from_bytes(1024).unwrap(),
        hash_start: 1,
        digest_size: 4,
    }
}

fn plain(sizes: &Sizes) -> Table<'_> {
    Table {
        version: Version::Current,
        data_device: b"254:0",
        hash_device: b"254:1",
        sizes,
        algorithm: b"sha256",
        root_digest: &[0xde, 0xad, 0xbe, 0x0f],
        salt: &[],
        corruption: CorruptionMode::Eio,
        error: ErrorMode::Eio,
        ignore_zero_blocks: false,
        check_at_most_once: false,
        try_verify_in_tasklet: false,
        fec: None,
        signature_key: None,
    }
}

fn all(sizes: &Sizes) -> Table<'_> {
    Table {
        salt: &[0x00, 0xaf],
        corruption: CorruptionMode::Ignore,
        error: ErrorMode::Panic,
        ignore_zero_blocks: true,
        check_at_most_once: true,
        try_verify_in_tasklet: true,
        fec: Some(Fec {
            device: b"254:2",
            blocks: 270000,
            start: 7,
            roots: 24,
        }),
        signature_key: Some(b"key"),
        ..plain(sizes)
    }
}

fn text(emit: impl FnOnce(&mut Status<'_>)) -> String {
    let mut buffer = [0xff; 1024];
    let mut status = Status::new(&mut buffer);
    emit(&mut status);
    assert!(!status.is_truncated());
    String::from_utf8(status.as_bytes().to_vec()).unwrap()
}

#[test]
fn info() {
    assert_eq!(text(|status| emit_info(status, false, None)), "V -");
    assert_eq!(text(|status| emit_info(status, true, None)), "C -");
    assert_eq!(text(|status| emit_info(status, false, Some(0))), "V 0");
    assert_eq!(text(|status| emit_info(status, true, Some(12))), "C 12");
}

#[test]
fn table_without_options() {
    let expected = "1 254:0 254:1 4096 1024 262144 1 sha256 deadbe0f -";
    assert_eq!(text(|status| plain(&sizes()).emit(status)), expected);
}

#[test]
fn table_with_all_options() {
    let expected = "1 254:0 254:1 4096 1024 262144 1 sha256 deadbe0f 00af 15 ignore_corruption \
        panic_on_error ignore_zero_blocks check_at_most_once try_verify_in_tasklet \
        use_fec_from_device 254:2 fec_blocks 270000 fec_start 7 fec_roots 24 \
        root_hash_sig_key_desc key";
    assert_eq!(text(|status| all(&sizes()).emit(status)), expected);
}

#[test]
fn each_option_alone() {
    let sizes = sizes();
    let plain = plain(&sizes);
    let all = all(&sizes);
    for (table, options) in [
        (
            Table {
                corruption: CorruptionMode::Ignore,
                ..plain
            },
            "1 ignore_corruption",
        ),
        (
            Table {
                corruption: CorruptionMode::Restart,
                ..plain
            },
            "1 restart_on_corruption",
        ),
        (
            Table {
                corruption: CorruptionMode::Panic,
                ..plain
            },
            "1 panic_on_corruption",
        ),
        (
            Table {
                error: ErrorMode::Restart,
                ..plain
            },
            "1 restart_on_error",
        ),
        (
            Table {
                error: ErrorMode::Panic,
                ..plain
            },
            "1 panic_on_error",
        ),
        (
            Table {
                ignore_zero_blocks: true,
                ..plain
            },
            "1 ignore_zero_blocks",
        ),
        (
            Table {
                check_at_most_once: true,
                ..plain
            },
            "1 check_at_most_once",
        ),
        (
            Table {
                try_verify_in_tasklet: true,
                ..plain
            },
            "1 try_verify_in_tasklet",
        ),
        (
            Table {
                fec: all.fec,
                ..plain
            },
            "8 use_fec_from_device 254:2 fec_blocks 270000 fec_start 7 fec_roots 24",
        ),
        (
            Table {
                signature_key: Some(b"key"),
                ..plain
            },
            "2 root_hash_sig_key_desc key",
        ),
    ] {
        let expected = format!("1 254:0 254:1 4096 1024 262144 1 sha256 deadbe0f - {options}");
        assert_eq!(text(|status| table.emit(status)), expected);
    }
}

#[test]
fn version_zero() {
    let sizes = sizes();
    let table = Table {
        version: Version::ChromiumOs,
        ..plain(&sizes)
    };
    assert!(text(|status| table.emit(status)).starts_with("0 254:0 "));
    let ima = text(|status| table.emit_ima(status, b"verity", [1, 13, 0], false));
    assert!(ima.contains(",verity_version=0,"));
}

#[test]
fn ima() {
    let sizes = sizes();
    let plain = plain(&sizes);
    assert_eq!(
        text(|status| plain.emit_ima(status, b"verity", [1, 13, 0], false)),
        "target_name=verity,target_version=1.13.0,hash_failed=V,verity_version=1,\
        data_device_name=254:0,hash_device_name=254:1,verity_algorithm=sha256,\
        root_digest=deadbe0f,salt=-,ignore_zero_blocks=n,check_at_most_once=n;"
    );
    assert_eq!(
        text(|status| all(&sizes).emit_ima(status, b"rverity", [1, 13, 0], true)),
        "target_name=rverity,target_version=1.13.0,hash_failed=C,verity_version=1,\
        data_device_name=254:0,hash_device_name=254:1,verity_algorithm=sha256,\
        root_digest=deadbe0f,salt=00af,ignore_zero_blocks=y,check_at_most_once=y,\
        root_hash_sig_key_desc=key,verity_mode=ignore_corruption,\
        verity_error_mode=panic_on_error;"
    );
}
