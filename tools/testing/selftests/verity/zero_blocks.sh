#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ignore_zero_blocks: a block whose digest is that of zeros reads as zeros, whatever
# the disk holds.
# Rows: V-26

. "$(dirname "$0")/../lib/verity.sh"
setup() {
    random "$DIR/data" $((512 * 4096))
    dd if=/dev/zero of="$DIR/data" bs=4096 seek=10 count=5 conv=notrunc status=none
    truncate -s 64K "$DIR/hash"
    vformat "$DIR/data" "$DIR/hash" --data-block-size=4096 --hash-block-size=512 "$@"
    vkeep
}

test_content_is_ignored() {
    attach
    flip "$DIR/d" $((12 * 4096 + 7))
    vopen v ignore_zero_blocks
    log_mark
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
    read_direct "$(dev v)" 12
    equal "$(log_count corrupted)" 0
    equal "$(dm_status v)" "0 4096 $T V -"
}
test_other_blocks_are_checked() {
    attach
    flip "$DIR/d" $((9 * 4096))
    # Zeros where there should be data are corruption.
    dd if=/dev/zero of="$DIR/d" bs=4096 seek=20 count=1 conv=notrunc status=none
    vopen v ignore_zero_blocks
    fails "Input/output error" read_direct "$(dev v)" 9
    fails "Input/output error" read_direct "$(dev v)" 20
    read_direct "$(dev v)" 10 4096 5
}
test_without_the_option() {
    attach
    flip "$DIR/d" $((12 * 4096 + 7))
    vopen v
    fails "Input/output error" read_direct "$(dev v)" 12
}
test_with_check_at_most_once() {
    attach
    flip "$DIR/d" $((12 * 4096 + 7))
    vopen v ignore_zero_blocks check_at_most_once
    for _ in 1 2; do
        drop_caches
        equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
    done
}
# The lower device is still asked: its error is one.
test_read_error() {
    attach
    dm_create und "0 4096 linear $L0 0"
    data=$(dev und) vopen v ignore_zero_blocks
    dm_swap und "0 4096 error"
    fails "Input/output error" read_direct "$(dev v)" 12
}

ksft_main "$@"
