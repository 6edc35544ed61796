#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# After fsync the data is safe: each one reaches the disk as a flush, also the disk of the data
# if the tags have another one (cases I02 and I08).
# Rows: I-12 I-60 I-63 I-65 I-66
# Needs: integrity

. "$(dirname "$0")/../lib/volumes.sh"

flushed() { # device flushes before, at least
    local now
    now=$(asked "$1" 16)
    [ $((now - $2)) -ge "$3" ] || fail "$((now - $2)) flushes of $1, at least $3 are needed"
}
# 50 writes with fsync, a copy of the disk as it is, and the same data in the copy.
survives() { # mode
    local want before
    L=$(empty d 6)
    tformat "$L" "$1" internal_hash:crc32c
    topen v "$L" "$1" internal_hash:crc32c
    before=$(asked "$L" 16)
    fsync_writes "$(dev v)" 50
    flushed "$L" "$before" 50
    cp "$DIR/d" "$DIR/copy"
    want=$(dd if="$(dev v)" bs=64k iflag=direct status=none | sha256sum)
    dm_remove v
    L=$(loop "$DIR/copy")
    topen v "$L" "$1" internal_hash:crc32c
    recalculated v
    equal "$(dd if="$(dev v)" bs=64k iflag=direct status=none | sha256sum)" "$want" "copy"
    equal "$(mismatches v)" 0 mismatches
}
test_journal() { survives J; }
test_bitmap() { survives B; }
test_direct() { survives D; }

# Only what the tags' disk is asked for would not be enough.
two_disks() { # mode, flushes that the data's disk has to see
    local data meta before both
    data=$(empty data 4)
    meta=$(empty meta 4)
    both=(internal_hash:crc32c "meta_device:$meta" journal_sectors:400)
    tformat "$data" "$1" "${both[@]}"
    topen v "$data" "$1" "${both[@]}"
    before=("$(asked "$data" 16)" "$(asked "$meta" 16)")
    fsync_writes "$(dev v)" 50
    flushed "$data" "${before[0]}" "$2"
    flushed "$meta" "${before[1]}" 50
}
test_two_disks_direct() { two_disks D 50; }
test_two_disks_bitmap() { two_disks B 50; }
# Before a section of the journal is used again; there is room for two of them.
test_two_disks_journal() { two_disks J 20; }

ksft_main "$@"
