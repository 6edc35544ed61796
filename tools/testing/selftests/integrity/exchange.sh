#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Volumes go from C's module to ours and back, closed or after a crash, and what the two leave on
# the disk after the same writes is the same.
# Needs: integrity
# Rows: I-41 I-43 I-45 I-46 I-47 I-48 I-49 I-50 I-51 I-53 I-54 I-57 I-64
# Modules: rdm
# Time: 240

. "$(dirname "$0")/../lib/integrity.sh"
KEY=$(printf '3c%.0s' {1..32})

setup() { both_modules; }
test_modules() {
    both_modules
    dmsetup targets | grep -q "^integrity  *v1.15.0"
    dmsetup targets | grep -q "^rintegrity  *v1.15.0"
}
# One writes and crashes, the other opens the copy.
move() { # from to mode [option...]
    blank L0 16M
    target=$1 mode=$3 ifresh i "${@:4}"
    random "$DIR/new" 2M
    write_direct "$DIR/new" "$(dev i)" seek=5 conv=fsync,notrunc
    cp "$(image L0)" "$(image L1)"
    local first device
    first=$(sum "$(dev i)")
    dm_remove i
    L1=$(loop "$(image L1)")
    for device in "$L1" "$L0"; do
        device=$device target=$2 mode=$3 iopen c "${@:4}" recalculate
        irecalculated c
        equal "$(sum "$(dev c)")" "$first"
        equal "$(mismatches c)" 0
        dm_remove c
    done
}
both_ways() {
    move integrity rintegrity "$@"
    move rintegrity integrity "$@"
}
test_journal() { both_ways J internal_hash:crc32c fix_padding commit_time:100; }
test_journal_mac() {
    both_ways J internal_hash:sha256 "journal_mac:hmac(sha256):$KEY" fix_hmac legacy_recalculate
}
test_journal_blocks() { both_ways J internal_hash:sha1 block_size:4096 interleave_sectors:512; }
test_direct() { both_ways D internal_hash:sha1 buffer_sectors:1 fix_hmac; }
test_bitmap() { both_ways B internal_hash:crc32c sectors_per_bit:64; }

# The same writes, the same disk.
left_by() { # target mode [option...]
    blank L0 16M
    local m
    target=$1 mode=$2 ifresh i "${@:3}"
    head -c 2M /dev/zero | tr '\0' x | dd of="$(dev i)" bs=64k oflag=direct seek=3 \
        iflag=fullblock status=none
    head -c 24K /dev/zero | tr '\0' y | dd of="$(dev i)" bs=4k oflag=direct seek=77 \
        iflag=fullblock status=none
    dm_remove i
    sync "$(image L0)"
    m=8
    # The journal itself depends on when it was written.
    m=$((m + $(journal_sectors)))
    head -c 4096 "$(image L0)" | sha256sum
    tail -c +$((m * 512 + 1)) "$(image L0)" | sha256sum
}
journal_sectors() {
    target=rintegrity mode=J iopen j "${OPTIONS[@]}"
    dm_table j | sed 's/.* journal_sectors:\([0-9]*\).*/\1/'
    dm_remove j
}
same() { # mode option...
    OPTIONS=("${@:2}" recalculate)
    left_by integrity "$@" >"$DIR/c"
    left_by rintegrity "$@" >"$DIR/rust"
    cmp "$DIR/c" "$DIR/rust"
}
test_same_direct() { same D internal_hash:sha256 fix_padding; }
test_same_journal() { same J internal_hash:sha1 interleave_sectors:1024; }
test_same_bitmap() { same B internal_hash:crc32c; }
test_only_ours_again() { only_ours; }

ksft_main "$@"
