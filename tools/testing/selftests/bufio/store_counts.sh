#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the device is asked for when parts of blocks are written: no read where a block,
# or whole sectors of it, were overwritten, and else one of all that is missing.
# Rows: B-08 B-11 B-13 B-21
# Modules: rdm
# Time: 240

. "$(dirname "$0")/../lib/bufio.sh"
setup() {
    image $((1 << 20))
    cp "$DIR/data" "$DIR/copy"
}

# A device that counts, with blocks of 64 KiB on it.
begin() {
    need_target
    attach
    dm_create und "0 2048 linear $L0 0"
    screate t "$(dev und)" 65536 1
    FLUSHES=0
    UNIT=$(cat "/sys/dev/block/$(majmin "$(dev und)")/queue/physical_block_size")
}
# Steps, and then the reads and writes since the device was made: requests and sectors.
# A flush counts as a write of no sectors.
counts() { # reads writes step...
    local reads=$1 writes=$2
    shift 2
    steps t "$@"
    [[ " $* " != *" S "* ]] || FLUSHES=$((FLUSHES + 1))
    equal "$(reads_of und)" "$reads" "reads and sectors"
    # shellcheck disable=SC2086
    set -- $writes
    equal "$(writes_of und)" "$(($1 + FLUSHES)) $2" "writes and sectors"
}
many() { # operation block bytes-each
    seq -f "$1:$2:%.0f:$3" 0 "$3" 65535
}

test_overwritten_by_small_writes() {
    begin
    # shellcheck disable=SC2046
    counts "0 0" "0 0" $(many f 1 32)
    counts "0 0" "1 128" S
    equal "$(lower_bytes 65536 16)" "$(filled 1 16)"
    # Nothing is left to be written.
    counts "0 0" "1 128" S
}
test_overwritten_backwards() {
    begin
    # shellcheck disable=SC2046
    counts "0 0" "0 0" $(many f 2 1024 | tac)
    counts "0 0" "1 128" S
}
test_whole_sectors() {
    begin
    counts "0 0" "1 16" f:3:4096:8192 S
    # Neighbours go out together.
    counts "0 0" "2 48" f:3:16384:8192 f:3:24576:8192 S
}
test_part_of_a_sector() {
    begin
    counts "1 128" "1 $((UNIT / 512))" f:4:100:32 S
    equal "$(lower_bytes $((4 * 65536 + 100)) 32)" "$(filled 4 32)"
    cmp -n 100 "$DIR/data" "$DIR/copy" $((4 * 65536)) $((4 * 65536))
    # All of it is there now.
    counts "1 128" "2 $((UNIT / 256))" f:4:200:32 S
    counts "1 128" "3 $((3 * UNIT / 512))" f:4:50000:32 S
}
test_both_ends() {
    begin
    # The first and the last sector are missing, and what is behind.
    counts "1 128" "1 $((32 + UNIT / 512))" f:5:32:16384 S
}
test_places_that_are_far_apart() {
    begin
    counts "1 128" "2 $((UNIT / 256))" f:6:0:32 f:6:60000:32 S
}
# One write, with what is between, if that is there.
test_places_that_are_near() {
    begin
    counts "0 0" "2 16" f:6:0:4096 f:6:16384:4096 S
    counts "1 120" "2 16" r:6@0
    counts "1 120" "3 56" f:6:0:4096 f:6:16384:4096 S
    cmp -n 12288 "$DIR/data" "$DIR/copy" $((6 * 65536 + 4096)) $((6 * 65536 + 4096))
}
# What need not be read need not be readable.
test_bad_sector_elsewhere() {
    need_target
    attach
    dm_create und "0 1400 linear $L0 0
1400 8 error
1408 640 linear $L0 1408"
    screate t "$(dev und)" 65536 1
    steps t f:10:100:32 S
    equal "$(lower_bytes $((10 * 65536 + 100)) 32)" "$(filled 10 32)"
    cmp -n 100 "$DIR/data" "$DIR/copy" $((10 * 65536)) $((10 * 65536))
    fails "Input/output error" steps t r:10@0
}
test_many_places() {
    begin
    counts "0 0" "0 0" f:7:0:32 f:7:8192:32 f:7:16384:32 f:7:24576:32 f:7:32768:32 f:7:40960:32
    # One more than can be kept: all is read, once, and for good.
    counts "1 128" "0 0" f:7:49152:32
    counts "1 128" "0 0" f:7:57344:32 f:7:5000:100 r:7@0
}
test_reading_what_is_missing() {
    begin
    counts "1 120" "0 0" f:8:0:4096 r:8@0
    counts "2 248" "0 0" r:9@0
    counts "2 248" "0 0" c:8:0:0 x:0@0
}
# What the blocks lack is read at the same time, and then all of them are written.
test_filled_together() {
    need_target
    attach
    modprobe -q dm-delay || skip "no dm-delay"
    # Reads take two seconds, writes no time: one after the other would take twenty.
    dm_create und "0 2048 delay $L0 0 2000 $L0 0 0"
    screate t "$(dev und)" 65536 1
    # shellcheck disable=SC2046
    steps t $(seq -f f:%.0f:100:32 0 9)
    local start=$SECONDS
    steps t S
    [ $((SECONDS - start)) -ge 1 ] || fail "nothing was read slowly"
    [ $((SECONDS - start)) -lt 14 ] || fail "$((SECONDS - start)) s for ten reads of two"
    local reads
    read -r reads _ < <(reads_of und)
    equal "$reads" 10 "reads"
    local block
    for block in 0 9; do
        equal "$(lower_bytes $((block * 65536 + 100)) 32)" "$(filled $block 32)"
        cmp -n 100 "$DIR/data" "$DIR/copy" $((block * 65536)) $((block * 65536))
    done
}
test_read_ahead() {
    begin
    counts "1 512" "0 0" p:4:4 r:4@0 r:5@1 r:7@2
}
test_flush_and_discard() {
    begin
    steps t F D:2:1
    fails "Input/output error" steps t D:999999:1
}

bufio_main "$@"
