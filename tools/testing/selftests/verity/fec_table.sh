#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The words of the table about parity: what is refused, with which text and errno, and
# what the table shows.
# Rows: V-29 V-30 V-31 V-32 V-33 V-34 V-36 V-42 V-43

. "$(dirname "$0")/../lib/fec.sh"
setup() {
    fformat 300 2
    fkeep
}
tables_start

# All is well but one word.
with() { # old new
    # shellcheck disable=SC2086
    vtable ${FEC/$1/$2}
}

test_accepted() {
    fattach
    fopen v
    equal "$(dm_status v)" "0 2400 $T V 0"
    equal "$(dm_table v | cut -d ' ' -f 14-)" \
        "8 use_fec_from_device $(majmin "$L2") fec_blocks $FECBLOCKS fec_start 0 fec_roots 2"
}
test_order_and_case_of_words() {
    fattach
    vopen v FEC_ROOTS 2 ignore_corruption fec_start 0 Fec_Blocks "$FECBLOCKS" \
        use_fec_from_device "$L2" try_verify_in_tasklet
    equal "$(dm_table v | cut -d ' ' -f 14-)" "10 ignore_corruption try_verify_in_tasklet \
use_fec_from_device $(majmin "$L2") fec_blocks $FECBLOCKS fec_start 0 fec_roots 2"
}
test_start_defaults_to_zero() {
    fattach
    vopen v use_fec_from_device "$L2" fec_roots 2 fec_blocks "$FECBLOCKS"
    equal "$(dm_table v | grep -o 'fec_start [0-9]*')" "fec_start 0"
}
test_start() {
    fattach
    losetup -d "$L2"
    { head -c $((5 * 4096)) /dev/urandom; cat "$DIR/fec"; } >"$DIR/f"
    L2=$(loop "$DIR/f")
    FEC="use_fec_from_device $L2 fec_blocks $FECBLOCKS fec_start 5 fec_roots 2"
    damage d "$L0" 9
    fopen v
    same v
    equal "$(corrected v)" 1
    dm_remove v
    refused "FEC device is too small" E2BIG "$(with "fec_start 5" "fec_start 6")"
    refused "FEC device is too small" E2BIG "$(with "fec_start 5" "fec_start 36028797018963967")"
}
test_device() {
    fattach
    refused "FEC device lookup failed" ENOENT "$(with "$L2" /dev/none)"
    refused "FEC device already specified" EINVAL \
        "$(with "fec_start 0" "use_fec_from_device $L2")"
}
test_no_value() {
    fattach
    local word
    for word in use_fec_from_device fec_roots fec_blocks fec_start; do
        refused "FEC feature arguments require a value" EINVAL "$(vtable $word)"
        refused "FEC feature arguments require a value" EINVAL "$(vtable ignore_corruption $word)"
    done
}
test_roots() {
    fattach
    local v
    for v in 0 1 25 255 256 257 281 2x 0x2; do
        refused "Invalid fec_roots" EINVAL "$(with "fec_roots 2" "fec_roots $v")"
    done
    refused "Missing fec_roots" EINVAL "$(vtable use_fec_from_device "$L2" fec_blocks "$FECBLOCKS")"
}
test_blocks() {
    fattach
    local v
    for v in x 1x 18446744073709551615 2305843009213693952 303; do
        refused "Invalid fec_blocks" EINVAL "$(with "$FECBLOCKS" "$v")"
    done
    for v in x 18446744073709551615; do
        refused "Invalid fec_start" EINVAL "$(with "fec_start 0" "fec_start $v")"
    done
    refused "Missing fec_blocks" EINVAL "$(vtable use_fec_from_device "$L2" fec_roots 2)"
    refused "Hash device is too small for fec_blocks" E2BIG "$(with "$FECBLOCKS" 305)"
}
test_fec_device_too_small() {
    fattach
    refused "FEC device is too small" E2BIG "$(with "fec_roots 2" "fec_roots 24")"
}
test_data_device_too_small() {
    fattach
    losetup -d "$L0"
    truncate -s -4096 "$DIR/d"
    L0=$(loop "$DIR/d")
    refused "Data device is too small" E2BIG "$(length=2392 with "fec_roots 2" "fec_roots 2")"
}
test_block_sizes_must_match() {
    fattach
    losetup -d "$L1"
    rm "$DIR/h"
    vformat "$DIR/d" "$DIR/h" --hash=sha256 --data-block-size=4096 --hash-block-size=1024
    L1=$(loop "$DIR/h")
    # Before the words that are missing.
    refused "Block sizes must match to use FEC" EINVAL "$(vtable use_fec_from_device "$L2")"
}
# Values without a device are checked and forgotten.
test_values_without_device() {
    fattach
    refused "Invalid fec_roots" EINVAL "$(vtable fec_roots 1)"
    vopen v fec_roots 2 fec_blocks 1 fec_start 9
    equal "$(dm_table v | cut -d ' ' -f 14-)" ""
    equal "$(dm_status v)" "0 2400 $T V -"
}

ksft_main "$@"
