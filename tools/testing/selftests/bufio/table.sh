#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A client with a bad block size is refused, and leaves nothing behind.
# Rows: B-01
# Modules: rdm

. "$(dirname "$0")/../lib/bufio.sh"
setup() { image $((1 << 20)); }

refused() { # block-size
    fails "Invalid argument" dmsetup create ksft-t --table "0 2048 bufio-test $L0 0 $1 1"
    equal "$(current)" 0 "bytes in use"
}
test_no_multiple_of_a_sector() {
    need_target
    attach
    for size in 0 1 511 513 4097; do
        log_mark
        refused $size
        logged "device-mapper: bufio: block size not specified or is not multiple of 512b"
    done
}
test_too_large() {
    need_target
    attach
    refused $(((1 << 20) + 512))
    refused 4294966784
}

bufio_main "$@"
