#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Reads and writes of all sizes, flushes, discards, errors, and what lies elsewhere.
# Rows: C-08 C-09 C-18 C-22 C-23 C-53 C-60 C-61 C-62 C-63 C-67 C-68

. "$(dirname "$0")/../lib/crypt.sh"
SIZE=16384

verify() { # name [fio option...]
    local name=$1
    shift
    fio --name=v --filename="$(dev "$name")" --direct=1 --size=8M --ioengine=libaio \
        --iodepth=16 --verify=crc32c --minimal "$@" >"$DIR/fio" 2>&1 || fail "$(cat "$DIR/fio")"
}
all_sizes() { # cipher [option...]
    attach
    copen i "$@"
    verify i --rw=randwrite --bsrange=4k-1m
    verify i --rw=randrw --bs=4k
    verify i --rw=write --bs=512k
}
test_default() {
    all_sizes aes-xts-plain64
    verify i --rw=randwrite --bsrange=512-64k
}
test_no_workqueue() { all_sizes aes-xts-plain64 no_read_workqueue no_write_workqueue; }
test_same_cpu() { all_sizes aes-xts-plain64 same_cpu_crypt submit_from_crypt_cpus; }
test_large_sectors() { all_sizes aes-xts-plain64 sector_size:4096 iv_large_sectors; }
test_special_mode() { key=$KEY32 all_sizes aes-cbc-eboiv; }

# Reads that complete in an interrupt: at once, in softirq, and by a thread.
interrupts() { # [option...]
    modprobe -q null_blk nr_devices=0 || skip "no null_blk"
    local n=/sys/kernel/config/nullb/ksft
    mount -t configfs none /sys/kernel/config 2>/dev/null || :
    mkdir $n
    echo 1 >$n/memory_backed
    echo 8 >$n/size
    echo 2 >$n/irqmode
    echo 10000 >$n/completion_nsec
    echo 1 >$n/power
    L0=/dev/$(cat $n/index | sed 's/^/nullb/')
    [ -b "$L0" ] || L0=/dev/ksft
    copen n aes-xts-plain64 "$@"
    verify n --rw=randrw --bs=4k
    verify n --rw=randwrite --bsrange=512-256k
    dm_remove n
    rmdir $n
}
test_interrupt() { interrupts; }
test_interrupt_no_workqueue() { interrupts no_read_workqueue no_write_workqueue; }

# Sectors are those of the target and the offset, wherever the target is.
test_offsets() {
    attach
    random "$DIR/data" $((1024 * 512))
    iv_offset=64 start=128 size=1024 copen a aes-xts-plain64
    write_direct a "$DIR/data" 64k
    dm_remove a
    {
        echo "0 512 $C aes-xts-plain64 $KEY64 64 $L0 128"
        echo "512 512 $C aes-xts-plain64 $KEY64 576 $L0 640"
    } | dmsetup create ksft-b
    equal "$(read_sum "$(dev b)" 64k)" "$(sum "$DIR/data")"
}
test_many_keys() {
    attach
    random "$DIR/data" $((2048 * 512))
    key=$(printf '%032d' {1..4} | tr -d '\n') size=2048 copen k aes:4-cbc-plain64
    write_direct k "$DIR/data" 64k
    dm_remove k
    # Every fourth sector has the second key.
    key=$(printf %032d 2) size=2048 copen k aes-cbc-plain64
    equal "$(dd if="$(dev k)" bs=512 skip=5 count=1 status=none | sha256sum)" \
        "$(dd if="$DIR/data" bs=512 skip=5 count=1 status=none | sha256sum)"
}
# The caller's memory is not changed, nor the device below where nothing was written.
test_neighbours() {
    attach
    copen w aes-xts-plain64
    before=$(dd if="$L0" bs=512 skip=9 count=100 iflag=direct status=none | sha256sum)
    random "$DIR/data" 512
    cp "$DIR/data" "$DIR/kept"
    dd if="$DIR/data" of="$(dev w)" bs=512 seek=8 oflag=direct status=none
    cmp "$DIR/data" "$DIR/kept"
    equal "$(dd if="$L0" bs=512 skip=9 count=100 iflag=direct status=none | sha256sum)" "$before"
}
test_flush_and_discard() {
    attach
    copen d aes-xts-plain64 allow_discards
    random "$DIR/data" $((SIZE * 512))
    write_direct d "$DIR/data" 1M
    sync "$(dev d)"
    blkdiscard -o 0 -l 1M "$(dev d)"
    equal "$(dd if="$L0" bs=64k count=16 iflag=direct status=none | tr -d '\0' | wc -c)" 0
    equal "$(dd if="$(dev d)" bs=64k skip=16 iflag=direct status=none | sha256sum)" \
        "$(dd if="$DIR/data" bs=64k skip=16 status=none | sha256sum)"
}
test_no_discard() {
    attach
    copen d aes-xts-plain64
    fails "not supported" blkdiscard "$(dev d)"
}
test_errors_below() {
    attach
    printf '%s\n' "0 64 linear $L0 0" "64 64 error" | dmsetup create ksft-e
    device=$(dev e) size=128 copen c aes-xts-plain64
    read_direct "$(dev c)" 0 512 64
    fails "Input/output error" read_direct "$(dev c)" 64 512 1
    fails "Input/output error" dd if=/dev/zero of="$(dev c)" bs=512 seek=70 count=1 oflag=direct
}
test_maximum_sizes() {
    attach
    echo 4096 >"$CRYPT/max_read_size"
    echo 8192 >"$CRYPT/max_write_size"
    copen m aes-xts-plain64
    verify m --rw=randwrite --bsrange=512-256k
    echo 0 >"$CRYPT/max_read_size"
    echo 0 >"$CRYPT/max_write_size"
}

ksft_main "$@"
