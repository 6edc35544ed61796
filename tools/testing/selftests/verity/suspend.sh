#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Suspend drops the hash cache; resume tells the LSMs and may happen often; I/O that
# waits during a suspend comes through.
# Rows: V-59 V-60 X-18

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_hashes_are_verified_again() {
    attach
    vopen v
    read_direct "$(dev v)" 0 4096 64
    # Seen and verified: a change below is not noticed.
    flip "$DIR/h" $((4 * 512))
    drop_caches
    read_direct "$(dev v)" 0
    dmsetup suspend ksft-v
    dmsetup resume ksft-v
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 0
    logged "device-mapper: verity: $(majmin "$L0"): metadata block 4 is corrupted"
}
test_many_resumes() {
    local i
    attach
    vopen v
    for i in 1 2 3 4 5 6 7 8; do
        dmsetup suspend ksft-v
        dmsetup resume ksft-v
    done
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}
test_readers_wait() {
    attach
    vopen v
    dmsetup suspend ksft-v
    sum "$(dev v)" >"$DIR/sum" &
    local reader=$!
    sleep 0.5
    kill -0 $reader
    dmsetup resume ksft-v
    wait $reader
    equal "$(cat "$DIR/sum")" "$(sum "$DIR/data")"
}
test_suspend_under_load() {
    local i pids=()
    attach
    vopen v
    for i in 1 2 3; do
        for _ in 1 2 3 4; do dd if="$(dev v)" bs=16k iflag=direct status=none; done |
            sha256sum >"$DIR/sum$i" &
        pids+=($!)
    done
    for i in 1 2 3 4 5 6; do
        dmsetup suspend ksft-v
        dmsetup resume ksft-v
    done
    wait "${pids[@]}"
    equal "$(sort -u "$DIR"/sum? | wc -l)" 1
    cat "$DIR/data" "$DIR/data" "$DIR/data" "$DIR/data" >"$DIR/four"
    equal "$(cut -c1-64 "$DIR/sum1")" "$(sum "$DIR/four")"
}
# The sticky letter belongs to the table.
test_new_table_starts_clean() {
    attach
    flip "$DIR/d" 0
    vopen v
    fails "Input/output error" read_direct "$(dev v)" 0
    dmsetup suspend ksft-v
    dmsetup resume ksft-v
    equal "$(dm_status v)" "0 4096 $T C -"
    dm_swap v "$(vtable)" --readonly
    equal "$(dm_status v)" "0 4096 $T V -"
}
test_remove_while_suspended() {
    attach
    vopen v
    dmsetup suspend ksft-v
    dm_remove v
}

ksft_main "$@"
