#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ignore_corruption logs and returns what is on the disk.
# Rows: V-21 V-42 V-55

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_data() {
    attach
    flip "$DIR/d" $((5 * 4096 + 1))
    vopen v ignore_corruption
    log_mark
    read_direct "$(dev v)" 5
    logged "device-mapper: verity: $(majmin "$L0"): data block 5 is corrupted"
    equal "$(sum "$(dev v)")" "$(sum "$DIR/d")"
    equal "$(dm_status v)" "0 4096 $T C -"
}
# The tree goes on below a damaged hash block, with the digests that are there.
test_metadata() {
    attach
    flip "$DIR/h" $((4 * 512))
    vopen v ignore_corruption
    log_mark
    read_direct "$(dev v)" 0
    log | grep -qxF "device-mapper: verity: $(majmin "$L0"): metadata block 4 is corrupted"
    log | grep -qxF "device-mapper: verity: $(majmin "$L0"): data block 0 is corrupted"
    log_mark
    read_direct "$(dev v)" 1
    equal "$(log_count "data block 1 is")" 0
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}

ksft_main "$@"
