#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the kernel measures of a table when it is loaded.
# Rows: V-44 X-12
# Kernel: debian, for it has IMA

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

# The measurement of a table is as expected, between what the core says of the device and the end.
measured() { # name words behind the salt
    local text version
    text=$(ima_table "$1")
    version=$(dmsetup targets | awk -v t="$T" '$1 == t { print substr($2, 2) }')
    equal "${text#*,num_targets=1;}" "target_index=0,target_begin=0,target_len=4096,$(
    )target_name=$T,target_version=$version,hash_failed=V,verity_version=1,$(
    )data_device_name=$(majmin "$L0"),hash_device_name=$(majmin "$L1"),$(
    )verity_algorithm=sha256,root_digest=$ROOT,$2;"
}

test_plain() {
    attach
    ima_start
    vopen plain
    measured plain "salt=00112233,ignore_zero_blocks=n,check_at_most_once=n"
}
test_no_salt() {
    attach
    ima_start
    salt=- vopen nosalt
    measured nosalt "salt=-,ignore_zero_blocks=n,check_at_most_once=n"
}
test_upper_case() {
    attach
    ima_start
    root=${ROOT^^} vopen upper
    measured upper "salt=00112233,ignore_zero_blocks=n,check_at_most_once=n"
}
test_flags() {
    attach
    ima_start
    vopen flags check_at_most_once ignore_zero_blocks
    measured flags "salt=00112233,ignore_zero_blocks=y,check_at_most_once=y"
}
# Options that are not in the list are not measured.
test_other_options() {
    attach
    ima_start
    vopen other try_verify_in_tasklet
    measured other "salt=00112233,ignore_zero_blocks=n,check_at_most_once=n"
}
test_modes() {
    local mode
    attach
    ima_start
    for mode in ignore_corruption restart_on_corruption panic_on_corruption; do
        vopen "$mode" $mode
        measured $mode "salt=00112233,ignore_zero_blocks=n,check_at_most_once=n,verity_mode=$mode"
        dm_remove $mode
    done
}
test_error_modes() {
    local mode
    attach
    ima_start
    for mode in restart_on_error panic_on_error; do
        vopen "$mode" $mode
        measured $mode \
            "salt=00112233,ignore_zero_blocks=n,check_at_most_once=n,verity_error_mode=$mode"
        dm_remove $mode
    done
}
test_each_table_load() {
    attach
    ima_start
    vopen again
    dmsetup suspend ksft-again
    dmsetup reload ksft-again --readonly --table "$(vtable check_at_most_once)"
    measured again "salt=00112233,ignore_zero_blocks=n,check_at_most_once=y"
}

ksft_main "$@"
