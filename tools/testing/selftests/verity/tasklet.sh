#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# try_verify_in_tasklet gives the same data and the same errors; afterwards other
# devices work as before.
# Rows: V-28; case V15
# Boot: --smp 2

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_data() {
    attach
    vopen v try_verify_in_tasklet
    for _ in 1 2 3; do
        equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
        read_direct "$(dev v)" 0 4096 64
        drop_caches
    done
}
test_corruption() {
    attach
    flip "$DIR/d" $((33 * 4096))
    vopen v try_verify_in_tasklet
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 33
    fails "Input/output error" read_direct "$(dev v)" 33
    logged "device-mapper: verity: $(majmin "$L0"): data block 33 is corrupted"
    equal "$(dm_status v)" "0 4096 $T C -"
    read_direct "$(dev v)" 32
}
test_metadata_corruption() {
    attach
    flip "$DIR/h" $((5 * 512))
    vopen v try_verify_in_tasklet
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 16
    logged "device-mapper: verity: $(majmin "$L0"): metadata block 5 is corrupted"
}
test_many_cycles() {
    local i n=8
    [ -z "$LONG" ] || n=50
    attach
    for ((i = 0; i < n; i++)); do
        vopen v try_verify_in_tasklet try_verify_in_tasklet
        read_direct "$(dev v)" $i
        dm_remove v
    done
    vopen v
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}
test_concurrent() {
    local i pids=()
    attach
    vopen v try_verify_in_tasklet
    for ((i = 0; i < 6; i++)); do
        dd if="$(dev v)" bs=$((4096 << (i % 3))) iflag=direct status=none |
            sha256sum >"$DIR/sum$i" &
        pids+=($!)
    done
    wait "${pids[@]}"
    equal "$(cut -c1-64 "$DIR"/sum? | sort -u)" "$(sum "$DIR/data")"
}

ksft_main "$@"
