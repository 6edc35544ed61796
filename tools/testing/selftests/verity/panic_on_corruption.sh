#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# panic_on_corruption: an I/O error does not panic, a corrupt block does.
# Rows: V-23; case V07
# Boot: --expect panic=ksft:.survived.*dm-verity.device.corrupted

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_trigger() {
    attach
    flip "$DIR/d" $((8 * 4096))
    dm_create und "0 4096 linear $L0 0"
    data=$(dev und) vopen v panic_on_corruption
    dm_swap und "0 4096 error"
    fails "Input/output error" read_direct "$(dev v)" 1
    dm_swap und "0 4096 linear $L0 0"
    echo "ksft: survived" >/dev/kmsg
    read_direct "$(dev v)" 8
}

ksft_main "$@"
