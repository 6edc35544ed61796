#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# panic_on_error: neither corruption nor an error in read-ahead panics, an error of
# a wanted block does.
# Rows: V-25 V-58; case V07
# Boot: --expect panic=ksft:.survived.*dm-verity.device.has.I/O.error

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_trigger() {
    attach
    flip "$DIR/d" $((8 * 4096))
    dm_create und "0 4096 linear $L0 0"
    data=$(dev und) vopen v panic_on_error
    fails "Input/output error" read_direct "$(dev v)" 8
    dmsetup suspend --noflush ksft-und
    printf '%s\n' "0 128 linear $L0 0" "128 8 error" "136 3960 linear $L0 136" |
        dmsetup reload ksft-und
    dmsetup resume ksft-und
    # Buffered, from the start: the kernel reads ahead over block 16.
    dd if="$(dev v)" of=/dev/null bs=4096 count=4 status=none
    echo "ksft: survived" >/dev/kmsg
    dm_swap und "0 4096 error"
    read_direct "$(dev v)" 1
}

ksft_main "$@"
