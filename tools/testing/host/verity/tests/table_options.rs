// SPDX-License-Identifier: GPL-2.0

//! The options of tables: rows V-20 to V-33, V-36 to V-38, V-40, V-41, X-07 to X-09.

use std::ffi::CString;

use dm::errno::{
    E2BIG,
    EINVAL,
    ENOKEY, //
};
use model::{
    compare::{
        accepted,
        compare,
        load, //
    },
    machine::Call,
    tables::{
        fine,
        invalid,
        refusal,
        refused,
        table,
        with,
        DATA_BLOCKS,
        DIGEST,
        ROOT, //
    },
    Machine, //
};
use verity::{
    options::{
        CorruptionMode,
        ErrorMode, //
    },
    table::Features,
};

#[test]
fn numbers_of_options() {
    fine(&table("0"));
    fine(&table("0 what follows means nothing"));
    fine(&table("4294967296"));
    fine(&table("1 ignore_corruption ignore_corruption 7"));
    fine(&table(&format!("15 {}", "ignore_zero_blocks ".repeat(15))));
    let text = "Invalid number of feature args";
    for options in [
        "1",
        "2 ignore_corruption",
        "x",
        "-1",
        "1x ignore_corruption",
    ] {
        invalid(&table(options), text);
    }
    invalid(
        &table(&format!("16 {}", "ignore_zero_blocks ".repeat(16))),
        text,
    );
}

#[test]
fn numbers_of_options_are_the_same_without_features() {
    let machine = Machine {
        features: Features::default(),
        ..Machine::default()
    };
    let fifteen = table(&format!("15 {}", "ignore_zero_blocks ".repeat(15)));
    assert!(compare(&fifteen, &machine).is_ok());
}

#[test]
fn modes() {
    for (options, corruption, error) in [
        (
            "1 ignore_corruption",
            CorruptionMode::Ignore,
            ErrorMode::Eio,
        ),
        (
            "1 restart_on_corruption",
            CorruptionMode::Restart,
            ErrorMode::Eio,
        ),
        (
            "1 panic_on_corruption",
            CorruptionMode::Panic,
            ErrorMode::Eio,
        ),
        (
            "1 restart_on_error",
            CorruptionMode::Eio,
            ErrorMode::Restart,
        ),
        ("1 panic_on_error", CorruptionMode::Eio, ErrorMode::Panic),
        (
            "2 PANIC_on_Error Ignore_Corruption",
            CorruptionMode::Ignore,
            ErrorMode::Panic,
        ),
    ] {
        let config = fine(&table(options));
        assert_eq!(
            (config.options.corruption, config.options.error),
            (corruption, error)
        );
    }
}

#[test]
fn one_mode_of_a_kind() {
    let corruption = [
        "ignore_corruption",
        "restart_on_corruption",
        "panic_on_corruption",
    ];
    let error = ["restart_on_error", "panic_on_error"];
    for kind in [&corruption[..], &error[..]] {
        for first in kind {
            for second in kind {
                let words = table(&format!("3 {first} ignore_zero_blocks {second}"));
                invalid(&words, "Conflicting error handling parameters");
            }
        }
    }
}

#[test]
fn flags_may_be_repeated() {
    let mut machine = Machine::default();
    let words = table(
        "6 ignore_zero_blocks CHECK_at_most_once try_verify_in_tasklet \
        Try_Verify_In_Tasklet check_at_most_once IGNORE_ZERO_BLOCKS",
    );
    let config = load(&words, &mut machine).map_err(|_| ()).unwrap();
    assert_eq!(accepted(&config).flags, (true, true, true));
    let once = |call: &Call| machine.calls.iter().filter(|&made| made == call).count();
    assert_eq!(
        (once(&Call::ZeroDigest(4096)), once(&Call::Bitmap(1000))),
        (1, 1)
    );
    fine(&words);
}

#[test]
fn a_bit_for_each_of_not_too_many_blocks() {
    let mut words = table("1 check_at_most_once");
    words[DATA_BLOCKS] = c"2147483647".into();
    assert_eq!(fine(&words).options.validated, Some(0x7fff_ffff));
    words[DATA_BLOCKS] = c"2147483648".into();
    refused(&words, "device too large to use check_at_most_once", E2BIG);
}

#[test]
fn unknown_options() {
    let text = "Unrecognized verity feature request";
    for option in [
        "unknown",
        "ignore_corruptions",
        "fec_",
        "\\ ignore_corruption",
        "-",
    ] {
        invalid(&table(&format!("1 {option}")), text);
    }
    invalid(&table("2 ignore_corruption 3"), text);
    let mut machine = Machine::default();
    let _ = load(&table("2 ignore_corruption What"), &mut machine);
    assert_eq!(machine.calls.last(), Some(&Call::Log(c"What".into())));
}

#[test]
fn options_of_features_that_are_not_there_are_unknown() {
    let options = [
        "use_fec_from_device 7:2",
        "fec_blocks 1",
        "fec_start 1",
        "fec_roots 2",
        "root_hash_sig_key_desc key",
    ];
    for option in options {
        let words = table(&format!("2 {option}"));
        fine(&words);
        for (fec, signatures) in [(false, false), (false, true), (true, false)] {
            let machine = Machine {
                features: Features { fec, signatures },
                ..Machine::default()
            };
            let there = if option.starts_with("root") {
                signatures
            } else {
                fec
            };
            let outcome = compare(&words, &machine).map(|_| ());
            let text = "Unrecognized verity feature request".to_string();
            assert_eq!(
                outcome,
                if there {
                    Ok(())
                } else {
                    Err((text, EINVAL.number()))
                }
            );
        }
    }
}

#[test]
fn forward_error_correction() {
    let config = fine(&table(
        "8 Use_FEC_from_device 7:2 fec_blocks 1008 fec_start 2 fec_roots 24",
    ));
    let parity = config.options.parity;
    assert_eq!(parity.device, Some(2));
    assert_eq!((parity.blocks, parity.start, parity.roots), (1008, 2, 24));

    let config = fine(&table("4 fec_blocks 5 fec_roots 258"));
    assert_eq!(
        config.options.parity.device, None,
        "values without a device are dropped"
    );
    assert_eq!(config.options.parity.roots, 2, "the low eight bits");

    for option in [
        "use_fec_from_device",
        "fec_blocks",
        "fec_start",
        "fec_roots",
    ] {
        let text = "FEC feature arguments require a value";
        invalid(&table(&format!("1 {option}")), text);
        invalid(&table(&format!("1 {option} 2")), text);
    }
    invalid(
        &table("4 use_fec_from_device 7:2 use_fec_from_device 7:2"),
        "FEC device already specified",
    );
    refused(
        &table("2 use_fec_from_device 7:9"),
        "FEC device lookup failed",
        dm::errno::ENOENT,
    );
    for word in ["x", "-1", "2305843009213693952"] {
        invalid(
            &table(&format!("2 fec_blocks {word}")),
            "Invalid fec_blocks",
        );
        invalid(&table(&format!("2 fec_start {word}")), "Invalid fec_start");
    }
    for word in ["0", "1", "25", "255", "256", "281", "x"] {
        invalid(&table(&format!("2 fec_roots {word}")), "Invalid fec_roots");
    }
}

#[test]
fn signatures() {
    let config = fine(&table("2 root_hash_sig_key_desc key"));
    let key = config.options.signature.unwrap();
    assert_eq!(
        (key.description, key.signature),
        (b"key".to_vec(), c"key".into())
    );

    let text = |text: &str| format!("DM Verity Sig Verification {text}");
    invalid(
        &table("1 root_hash_sig_key_desc key"),
        &text("Signature key not specified"),
    );
    refused(
        &table("2 root_hash_sig_key_desc x"),
        &text("Invalid key specified"),
        ENOKEY,
    );
    invalid(
        &table("3 root_hash_sig_key_desc key ROOT_hash_sig_key_desc"),
        &text("root_hash_sig_key_desc already specified"),
    );
}

#[test]
fn the_root_digest_is_verified_as_typed() {
    let mut machine = Machine::default();
    let typed = ROOT.to_uppercase();
    assert!(load(&with(DIGEST, &typed), &mut machine).is_ok());
    let call = Call::Verify(CString::new(typed).unwrap(), None);
    assert_eq!(machine.calls.last(), Some(&call));

    let machine = Machine {
        require_signature: true,
        ..Machine::default()
    };
    let text = ("Root hash verification failed".into(), ENOKEY.number());
    assert_eq!(refusal(&table(""), &machine), text);
    assert!(compare(&table("2 root_hash_sig_key_desc key"), &machine).is_ok());
}

/// A value that looks like the option acts in the first scan of the words, as in C.
#[test]
fn a_value_may_be_taken_for_the_tasklet_option() {
    let machine = Machine {
        keys: vec![c"try_verify_in_tasklet".into()],
        ..Machine::default()
    };
    let words = table("2 root_hash_sig_key_desc try_verify_in_tasklet");
    let config = compare(&words, &machine).map_err(|_| ()).unwrap();
    assert!(config.options.try_verify_in_tasklet);

    let words = table("3 root_hash_sig_key_desc try_verify_in_tasklet ignore_zero_blocks");
    let config = compare(&words, &machine).map_err(|_| ()).unwrap();
    assert!(config.options.try_verify_in_tasklet, "not the last word");
}
