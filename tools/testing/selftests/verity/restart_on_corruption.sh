#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# restart_on_corruption restarts, with its text, and not for an I/O error.
# Rows: V-22; case V07
# Boot: --expect reboot=ksft:.survived.*Restarting.system.with.command.'dm-verity.device.corrupted'

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_trigger() {
    attach
    flip "$DIR/h" $((2 * 512))
    dm_create und "0 4096 linear $L0 0"
    data=$(dev und) vopen v restart_on_corruption
    dm_swap und "0 4096 error"
    fails "Input/output error" read_direct "$(dev v)" 1
    dm_swap und "0 4096 linear $L0 0"
    echo "ksft: survived" >/dev/kmsg
    read_direct "$(dev v)" 1
}

ksft_main "$@"
