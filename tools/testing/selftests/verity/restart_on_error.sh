#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# restart_on_error restarts for an I/O error, with its text, and not for corruption.
# Rows: V-24 V-58; case V07
# Boot: --expect reboot=ksft:.survived.*Restarting.system.with.command.'dm-verity.device.has.I.O.err

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_trigger() {
    attach
    flip "$DIR/d" $((8 * 4096))
    dm_create und "0 4096 linear $L0 0"
    data=$(dev und) vopen v restart_on_error
    fails "Input/output error" read_direct "$(dev v)" 8
    echo "ksft: survived" >/dev/kmsg
    dm_swap und "0 4096 error"
    read_direct "$(dev v)" 1
}

ksft_main "$@"
