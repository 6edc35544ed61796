#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Optional words: their number, letter case, values, repeats.
# Rows: C-17 C-18 C-24 C-25 C-26 C-28 C-29 C-35 X-06 X-07 X-08 X-09

. "$(dirname "$0")/../lib/crypt_tables.sh"
tables_start

# A table with one option.
one() { ctable aes-xts-plain64 "$1"; }
# What is printed after the start of the device below.
options() { # [option...]
    shown "$(ctable aes-xts-plain64 "$@")" | sed "s/.* $(majmin "$L0") 0//"
}

test_count() {
    attach
    local v t
    t=$(ctable aes-xts-plain64)
    for v in 1 x -1 "2 allow_discards" 1x 10 "10 $(printf 'allow_discards %.0s' {1..10})"; do
        invalid "Invalid number of feature args" "$t $v"
    done
    equal "$(shown "$t 4294967297 high_priority nonsense")" \
        "$(shown "$t") 1 high_priority"
    equal "$(shown "$t 0 nonsense")" "$(shown "$t")"
    equal "$(shown "$t 9 $(printf 'allow_discards %.0s' {1..9})")" "$(shown "$t") 1 allow_discards"
}
test_unknown() {
    attach
    local v
    for v in nonsense allow_discard allow_discards: 0 sector_size sector_size: Sector_size:512 \
        sector_size:x sector_size:-512 sector_size:512x sector_size:0x200 integrity integrity: \
        integrity:x:none integrity::none INTEGRITY:16:none integrity_key_size: \
        integrity_key_size:1x Integrity_key_size:1; do
        invalid "Invalid feature arguments" "$(one "$v")"
    done
}
test_flags() {
    attach
    local v
    for v in allow_discards same_cpu_crypt high_priority submit_from_crypt_cpus \
        no_read_workqueue no_write_workqueue iv_large_sectors; do
        equal "$(options "$v")" " 1 $v"
        equal "$(options "${v^^}")" " 1 $v"
    done
}
test_sector_size() {
    attach
    local v
    for v in 0 1 256 513 1536 8192 65536 99999999999999999999; do
        invalid "Invalid feature value for sector_size" "$(one sector_size:$v)"
    done
    for v in 1024 2048 4096; do
        equal "$(options sector_size:$v)" " 1 sector_size:$v"
    done
    equal "$(options sector_size:512)" ""
    # The low 16 bits count.
    equal "$(options sector_size:66048)" ""
    equal "$(options sector_size:4294968320)" " 1 sector_size:1024"
}
test_length_of_the_device() {
    attach
    local v
    for v in 2047 2046 2044; do
        invalid "Device size is not multiple of sector_size feature" \
            "$(size=$v ctable aes-xts-plain64 sector_size:4096)"
    done
    [[ $(size=2044 shown "$(size=2044 ctable aes-xts-plain64 sector_size:2048)") == \
        "0 2044 "*" sector_size:2048" ]]
}
test_integrity() {
    attach
    local v
    for v in 0:none 481:none 4294967296:none 0 481; do
        invalid "Invalid integrity arguments" "$(one integrity:$v)"
    done
    for v in 16: 16:hmac 16:none: 16:none:x 16::none; do
        invalid "Unknown integrity profile" "$(one "integrity:$v")"
    done
    # Without IVs to store, it is not looked at further.
    equal "$(options integrity:16:none)" " 1 integrity:16:none"
    equal "$(options integrity:480:NoNe)" " 1 integrity:480:NoNe"
    equal "$(options integrity:4294967297:none)" " 1 integrity:1:none"
    # What is between number and colon means nothing.
    equal "$(options integrity:16x:none)" " 1 integrity:16:none"
}
# C reads from a null pointer.
test_integrity_without_a_profile() {
    [ "${RDM_MODULES:-c}" != c ] || skip "the C target crashes"
    attach
    invalid "Unknown integrity profile" "$(one integrity:16)"
    invalid "Unknown integrity profile" "$(one integrity:16x)"
}
test_integrity_key_size() {
    attach
    invalid "Invalid integrity_key_size argument" "$(one integrity_key_size:0)"
    invalid "Invalid integrity_key_size argument" "$(one integrity_key_size:4294967296)"
    equal "$(options integrity_key_size:4294967298)" " 1 integrity_key_size:2"
}
test_repeats() {
    attach
    equal "$(options sector_size:4096 sector_size:1024 integrity:4:none integrity:5:NONE \
        integrity_key_size:1 integrity_key_size:2 high_priority HIGH_PRIORITY)" \
        " 4 high_priority integrity:5:NONE sector_size:1024 integrity_key_size:2"
}
test_order() {
    attach
    equal "$(options iv_large_sectors sector_size:4096 integrity:8:none no_write_workqueue \
        no_read_workqueue submit_from_crypt_cpus high_priority same_cpu_crypt allow_discards)" \
        " 9 allow_discards same_cpu_crypt high_priority submit_from_crypt_cpus \
no_read_workqueue no_write_workqueue integrity:8:none sector_size:4096 iv_large_sectors"
}

ksft_main "$@"
