#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A volume is shrunk, so is its disk, and both grow again: entries of the journal beyond the end
# are dropped and do no harm later (case I03).
# Rows: I-34 I-64 I-76
# Needs: integrity

. "$(dirname "$0")/../lib/volumes.sh"

linear() { echo "0 $1 linear $L 0"; }
fill() { # expected sectors
    equal "$(sectors "$(dev v)")" "$1" sectors
    blkdiscard --force --zeroout "$(dev v)"
    dd if="$(dev v)" of=/dev/null bs=64k iflag=direct status=none
}
test_shrink_and_grow() {
    local size
    L=$(empty d 24)
    dm_create lower "$(linear 49152)"
    iformat "$(dev lower)" --no-wipe
    iopen "$(dev lower)" v
    size=$(sectors "$(dev v)")
    log_mark
    fill "$size"
    integritysetup resize ksft-v --size 16384
    equal "$(sectors "$(dev v)")" 16384 "sectors of the shrunken volume"
    dm_swap lower "$(linear 38912)"
    dm_swap lower "$(linear 49152)"
    integritysetup resize ksft-v
    fill "$size"
    equal "$(mismatches v)" 0 mismatches
    equal "$(log_count 'rror')" 0 "errors in the log"
}
# The same with a journal that still holds entries beyond the end when the volume is opened.
test_entries_beyond_the_end() {
    local options=(internal_hash:crc32c journal_sectors:1056 commit_time:60000) size
    L=$(empty d 24)
    wipe='' tformat "$L" J "${options[@]}"
    size=$(provided "$L")
    topen v "$L" J "${options[@]}"
    dd if=/dev/urandom of="$(dev v)" bs=4k count=4 seek=$((size / 8 - 8)) oflag=direct \
        conv=fsync status=none
    cp "$DIR/d" "$DIR/short"
    truncate -s 20M "$DIR/short"
    L=$(loop "$DIR/short")
    log_mark
    dm_create w "$(length=32768 itable "$L" J "${options[@]}")"
    dd if=/dev/zero of="$(dev w)" bs=64k count=256 oflag=direct conv=fsync status=none
    dd if="$(dev w)" of=/dev/null bs=64k count=256 iflag=direct status=none
    dm_remove w
    losetup -d "$L"
    truncate -s 24M "$DIR/short"
    L=$(loop "$DIR/short")
    topen w "$L" J "${options[@]}"
    fill "$size"
    equal "$(log_count 'rror')" 0 "errors in the log"
}

ksft_main "$@"
