#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# How often the device is asked: once for a block, however many want it, and once
# for neighbours.
# Time: 200
# Rows: B-06 B-09 B-34
# Modules: rdm
# Boot: --smp 2

. "$(dirname "$0")/../lib/bufio.sh"
setup() { image $((8 << 20)); }

under() { # a mapped device, which counts what is sent to it
    attach
    dm_create und "0 $(sectors "$L0") linear $L0 0"
}
# Reads 64 blocks, 4 KiB at a time, and compares the requests below.
asks() { # requests words...
    local requests=$1 before after
    shift
    bcreate t "$(dev und)" "$@"
    read -r -a before < <(reads_of und)
    read_direct "$(dev t)" 64 4096 64
    # What was asked ahead may still be on its way.
    sleep 0.5
    read -r -a after < <(reads_of und)
    dm_remove t
    equal $((after[0] - before[0])) "$requests" "requests"
    equal $((after[1] - before[1])) 512 "sectors"
}
test_one_by_one() {
    need_target
    under
    asks 64 4096 1
}
test_neighbours_together() {
    need_target
    under
    asks 1 4096 1 around 64
    asks 4 4096 1 around 16
    asks 8 512 1 around 64
    asks 1 65536 1 around 4
}
test_no_more_than_missing() {
    need_target
    under
    # The second half is there already.
    bcreate t "$(dev und)" 4096 1 around 64
    local before after
    read -r -a before < <(reads_of und)
    dd if="$(dev t)" of=/dev/null bs=64k skip=4 count=1 iflag=direct status=none
    read -r -a after < <(reads_of und)
    equal $((after[1] - before[1])) 512 "sectors"
    dd if="$(dev t)" of=/dev/null bs=64k skip=4 count=4 iflag=direct status=none
    read -r -a before < <(reads_of und)
    equal "${before[*]}" "${after[*]}" "requests and sectors after a hit"
}
# Many readers of the same missing blocks.
test_together() {
    need_target
    under
    local before after readers
    for _ in 1 2 3; do
        bcreate t "$(dev und)" 4096 1 around 8
        read -r -a before < <(reads_of und)
        readers=()
        for _ in 1 2 3 4; do
            read_sum "$(dev t)" >"$DIR/sum.$BASHPID" &
            readers+=($!)
        done
        wait "${readers[@]}"
        read -r -a after < <(reads_of und)
        equal $((after[1] - before[1])) "$(sectors "$L0")" "sectors for four readers"
        dm_remove t
    done
}

bufio_main "$@"
