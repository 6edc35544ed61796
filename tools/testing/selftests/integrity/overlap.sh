#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Overlapping reads and writes of all sizes from many jobs: all come to an end (case I11).
# Rows: I-72
# Needs: integrity
# Time: 200

. "$(dirname "$0")/../lib/volumes.sh"

stir() { # device
    local seconds=3
    [ -z "$LONG" ] || seconds=120
    timeout --kill-after=5 $((seconds + 60)) fio --name=stir --filename="$1" --size=4m --direct=1 \
        --ioengine=libaio --iodepth=32 --rw=randrw --bsrange=512-64k --blockalign=512 \
        --numjobs=16 --thread --time_based --runtime=$seconds --norandommap \
        --fallocate=none --group_reporting >"$DIR/fio" 2>&1 ||
        fail "fio: $(tail -n 5 "$DIR/fio")"
}
overlap() { # mode
    L=$(empty d 16)
    tformat "$L" "$1" internal_hash:crc32c
    topen v "$L" "$1" internal_hash:crc32c
    stir "$(dev v)"
    equal "$(bad_sectors "$(dev v)")" ""
    equal "$(mismatches v)" 0 mismatches
}
test_journal() { overlap J; }
test_bitmap() { overlap B; }
test_direct() { overlap D; }
test_raid10() {
    local i legs=()
    for i in 1 2 3 4; do
        L=$(empty "leg$i" 8)
        tformat "$L" J internal_hash:crc32c
        topen "leg$i" "$L" J internal_hash:crc32c
        # Unlike RAID1, this has to have a place for what it knows of itself.
        legs+=("$(empty "meta$i" 4)" "$(dev "leg$i")")
    done
    modprobe -a dm-raid raid10
    dm_create r "0 16384 raid raid10 2 128 nosync 4 ${legs[*]}"
    stir "$(dev r)"
    for i in 1 2 3 4; do equal "$(mismatches "leg$i")" 0 "mismatches of leg $i"; done
}

ksft_main "$@"
