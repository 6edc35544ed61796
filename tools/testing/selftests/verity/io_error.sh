#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A device below that fails is an I/O error and not corruption, of the data as of
# the hashes; afterwards everything reads again.
# Rows: V-48 V-51 X-19; case V07 (without an action)

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

under() { # name device: a linear that can be swapped
    dm_create "$1" "0 $(sectors "$2") linear $2 0"
}
test_data_device() {
    attach
    under und "$L0"
    data=$(dev und) vopen v panic_on_corruption
    read_direct "$(dev v)" 3
    dm_swap und "0 4096 error"
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 3
    equal "$(log_count "is corrupted")" 0
    equal "$(dm_status v)" "0 4096 $T V -"
    dm_swap und "0 4096 linear $L0 0"
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}
test_hash_device() {
    attach
    under und "$L1"
    hash=$(dev und) vopen v
    dm_swap und "0 128 error"
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 3
    equal "$(log_count "is corrupted")" 0
    equal "$(dm_status v)" "0 4096 $T V -"
    dm_swap und "0 128 linear $L1 0"
    # An error is not kept in the cache.
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}
# One hash block that cannot be read takes only its own data blocks with it.
test_one_hash_block() {
    attach
    under und "$L1"
    hash=$(dev und) vopen v
    dmsetup suspend --noflush ksft-und
    printf '%s\n' "0 5 linear $L1 0" "5 1 error" "6 122 linear $L1 6" | dmsetup reload ksft-und
    dmsetup resume ksft-und
    read_direct "$(dev v)" 0
    fails "Input/output error" read_direct "$(dev v)" 16
    fails "Input/output error" read_direct "$(dev v)" 31
    read_direct "$(dev v)" 32
    equal "$(dm_status v)" "0 4096 $T V -"
}

ksft_main "$@"
