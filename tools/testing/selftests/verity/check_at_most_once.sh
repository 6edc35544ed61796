#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check_at_most_once trusts a block it has seen, but never a failed read.
# Rows: V-27; case V05

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_second_read_is_not_checked() {
    attach
    vopen v check_at_most_once
    read_direct "$(dev v)" 0 4096 8
    flip "$DIR/d" $((3 * 4096))
    drop_caches
    read_direct "$(dev v)" 0 4096 8
    equal "$(dm_status v)" "0 4096 $T V -"
    # What was not read before is checked.
    flip "$DIR/d" $((9 * 4096))
    drop_caches
    fails "Input/output error" read_direct "$(dev v)" 9
    equal "$(dm_status v)" "0 4096 $T C -"
}
test_bad_block_is_never_trusted() {
    attach
    flip "$DIR/d" 0
    vopen v check_at_most_once
    fails "Input/output error" read_direct "$(dev v)" 0
    fails "Input/output error" read_direct "$(dev v)" 0
}
test_read_error_after_success() {
    attach
    dm_create und "0 4096 linear $L0 0"
    data=$(dev und) vopen v check_at_most_once
    read_direct "$(dev v)" 0 4096 3
    dm_swap und "0 4096 error"
    fails "Input/output error" read_direct "$(dev v)" 0 4096 3
    equal "$(dm_status v)" "0 4096 $T V -"
    dm_swap und "0 4096 linear $L0 0"
    read_direct "$(dev v)" 0 4096 3
}

# 2^31 blocks need a tree of 64 GiB and a bit more: a device of zeros that large.
test_too_large() {
    modprobe dm-zero
    attach
    dm_create big "0 $((68 << 21)) zero"
    local table
    table=$(hash=$(dev big) blocks=2147483648 dbs=512 hbs=4096 start=0 length=8 \
        vtable check_at_most_once)
    log_mark
    fails "Argument list too long" dm_create v "$table" --readonly
    log_has ": $T: device too large to use check_at_most_once \(-E2BIG\)$"
    dm_create v "${table/2147483648/2147483647}" --readonly
}

ksft_main "$@"
