#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What status and table print, and the limits of the device.
# Rows: C-18 C-29 C-34 C-35 C-62 C-65 C-68 Cases: C07 C13

. "$(dirname "$0")/../lib/crypt.sh"

keytable() { dmsetup table --showkeys "ksft-$1"; }

test_plain() {
    attach
    iv_offset=8 start=8 size=1024 copen s aes-xts-plain64
    equal "$(dm_status s)" "0 1024 $C "
    equal "$(keytable s)" "0 1024 $C aes-xts-plain64 $KEY64 8 $(majmin "$L0") 8"
}
test_key_is_hidden() {
    attach
    copen s aes-xts-plain64
    [[ $(dm_table s) != *"$KEY64"* ]]
}
test_upper_case_key() {
    attach
    key=$(printf %064d 1 | tr 0 A) copen s aes-cbc-plain
    [[ $(keytable s) == *" $(printf %064d 1 | tr 0 a) "* ]]
}
test_order_of_options() {
    attach
    copen s aes-xts-plain64 iv_large_sectors sector_size:4096 no_write_workqueue \
        no_read_workqueue submit_from_crypt_cpus high_priority same_cpu_crypt ALLOW_DISCARDS
    equal "$(keytable s)" "0 2048 $C aes-xts-plain64 $KEY64 0 $(majmin "$L0") 0 8 allow_discards \
same_cpu_crypt high_priority submit_from_crypt_cpus no_read_workqueue no_write_workqueue \
sector_size:4096 iv_large_sectors"
}
test_unused_integrity_is_shown() {
    attach
    copen s aes-xts-plain64 integrity:8:none sector_size:512 integrity_key_size:4
    equal "$(keytable s)" "0 2048 $C aes-xts-plain64 $KEY64 0 $(majmin "$L0") 0 2 \
integrity:8:none integrity_key_size:4"
}
test_round_trip() {
    attach
    copen s aes-xts-plain64 allow_discards sector_size:4096
    local table
    table=$(keytable s)
    dm_remove s
    dm_create s "$table"
    equal "$(keytable s)" "$table"
}
test_limits() {
    attach
    copen s aes-xts-plain64
    equal "$(queue s logical_block_size)" 512
    equal "$(queue s dma_alignment)" 511
    equal "$(queue s write_zeroes_max_bytes)" 0
    equal "$(queue s discard_max_bytes)" 0
    dm_remove s
    copen s aes-xts-plain64 sector_size:4096 allow_discards
    equal "$(queue s logical_block_size)" 4096
    equal "$(queue s physical_block_size)" 4096
    equal "$(queue s dma_alignment)" 4095
    [ "$(queue s discard_max_bytes)" -gt 0 ]
}
test_parameters() {
    local p
    for p in max_read_size max_write_size; do
        equal "$(cat "$CRYPT/$p")" 0
        equal "$(stat -c %a "$CRYPT/$p")" 644
    done
}

ksft_main "$@"
