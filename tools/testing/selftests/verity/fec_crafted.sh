#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An image whose hash tree and parity are both garbage: a repair needs digests which
# would have to be repaired themselves. It gives up, in each context.
# Rows: V-54; cases V03 V08
# Time: 300

. "$(dirname "$0")/../lib/fec.sh"
setup() {
    fformat 2048 2
    # All but the root.
    dd if=/dev/urandom of="$DIR/hash" bs=4096 seek=2 count=16 conv=notrunc status=none
    dd if=/dev/urandom of="$DIR/fec" bs=4096 count=18 conv=notrunc status=none
    fkeep
}

gives_up() { # [option...]
    fattach
    fopen v "$@"
    fails "Input/output error" timeout 60 dd if="$(dev v)" of=/dev/null bs=4096 count=1 \
        iflag=direct status=none
    equal "$(dm_status v)" "0 16384 $T C 0"
    fails "Input/output error" timeout 60 dd if="$(dev v)" of=/dev/null bs=4096 count=1 \
        skip=2047 iflag=direct status=none
    equal "$(dm_status v)" "0 16384 $T C 0"
}
test_gives_up() { gives_up; }
test_gives_up_in_softirq() { gives_up try_verify_in_tasklet; }

# The tree is whole but for one leaf, and so is parity; readers of all kinds of blocks
# fall back to workers at the same time.
test_readers_at_once() {
    local i pids=()
    mkdir "$DIR/many"
    DIR=$DIR/many
    fformat 600 2
    fattach
    # Each in codewords of its own.
    damage d "$L0" 4
    damage d "$L0" 599
    damage h "$L1" 4
    fopen v try_verify_in_tasklet
    for i in {1..20}; do
        timeout 120 dd if="$(dev v)" of="$DIR/out$i" bs=$((i % 4 * 28 + 4))K iflag=direct \
            status=none &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i"; done
    for i in {1..20}; do cmp "$DIR/out$i" "$DIR/data"; done
    # Each reader repairs the data blocks, and the hash block is repaired at least once.
    [ "$(corrected v)" -ge 41 ] || fail "only $(corrected v) repairs"
}

ksft_main "$@"
