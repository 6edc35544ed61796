#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Devices with zones: written in order, never split by the target, and appended to by the core.
# Rows: C-32 C-60 C-65 C-66
# Cases: C06

. "$(dirname "$0")/../lib/crypt.sh"

NULLB=/sys/kernel/config/nullb/ksft
# 32 MiB in zones of 4 MiB.
zoned() {
    modprobe -q null_blk nr_devices=0 || skip "no null_blk"
    mount -t configfs none /sys/kernel/config 2>/dev/null || :
    [ ! -e $NULLB ] || rmdir $NULLB
    mkdir $NULLB
    echo 1 >$NULLB/memory_backed
    echo 32 >$NULLB/size
    echo 1 >$NULLB/zoned || skip "no zones in this kernel"
    echo 4 >$NULLB/zone_size
    echo 4096 >$NULLB/blocksize
    echo 1 >$NULLB/power
    L0=/dev/nullb$(cat $NULLB/index)
    [ -b "$L0" ] || L0=/dev/ksft
}
zopen() { # name [option...]
    local name=$1
    shift
    size=65536 copen "$name" aes-xts-plain64 "$@"
}
gone() { # name
    dm_remove "$1"
    rmdir $NULLB
}
zones() { # device: start, length, write pointer, and kind of each
    blkzone report "$1" | sed 's/zcond:[^,]*,//'
}

test_table_and_limits() {
    zoned
    zopen z allow_discards
    equal "$(dm_table z)" "0 65536 $C aes-xts-plain64 $(printf %0128d 0) 0 $(majmin "$L0") 0 \
2 allow_discards no_write_workqueue"
    equal "$(queue z zoned)" host-managed
    [ "$(queue z max_hw_sectors_kb)" -le 1024 ]
    [ "$(queue z zone_append_max_bytes)" -gt 0 ]
    equal "$(queue z chunk_sectors)" 8192
    gone z
}
test_sequential_writes() {
    zoned
    zopen z
    random "$DIR/data" $((6 << 20))
    dd if="$DIR/data" of="$(dev z)" bs=1M oflag=direct status=none
    equal "$(dd if="$(dev z)" bs=1M count=6 iflag=direct status=none | sha256sum)" \
        "$(sha256sum <"$DIR/data")"
    equal "$(zones "$(dev z)")" "$(zones "$L0")"
    # What is below is what a device without zones has.
    dd if="$L0" of="$DIR/image" bs=1M count=6 iflag=direct status=none
    device=$(loop "$DIR/image") size=12288 copen p aes-xts-plain64
    equal "$(dd if="$(dev p)" bs=1M iflag=direct status=none | sha256sum)" \
        "$(sha256sum <"$DIR/data")"
    dm_remove p
    gone z
}
test_out_of_order() {
    zoned
    zopen z
    fails "Input/output error" dd if=/dev/zero of="$(dev z)" bs=4k seek=7 count=1 oflag=direct
    gone z
}
test_reset() {
    zoned
    zopen z
    dd if=/dev/zero of="$(dev z)" bs=1M count=5 oflag=direct status=none
    blkzone reset -o 0 -l 16384 "$(dev z)"
    equal "$(zones "$(dev z)")" "$(zones "$L0")"
    dd if=/dev/zero of="$(dev z)" bs=1M count=1 oflag=direct status=none
    gone z
}
# Several zones at a time, from threads and with deep queues.
load() { # [option...]
    zoned
    zopen z "$@"
    fio --name=z --filename="$(dev z)" --direct=1 --zonemode=zbd --rw=write --size=32M \
        --bsrange=4k-256k --bs_unaligned=0 --blockalign=4k --ioengine=libaio --iodepth=16 \
        --verify=crc32c --minimal >"$DIR/fio" 2>&1 || fail "$(cat "$DIR/fio")"
    gone z
}
test_load() { load; }
test_load_at_once() { load no_read_workqueue; }

ksft_main "$@"
