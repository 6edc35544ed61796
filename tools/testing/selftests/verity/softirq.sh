#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# With try_verify_in_tasklet, bios are verified where the device completes them: what
# is cached and small in softirq, what is not on the work queue. The counters in
# debugfs say so; the C module has none, and only the data is compared there.
# Rows: V-28 V-66; case V12
# Boot: --smp 2

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

NULLB=/sys/kernel/config/nullb/ksft-data
DEBUG=/sys/kernel/debug/rdm

# The data on a device that completes its requests from a timer interrupt.
attach_null() {
    attach
    modprobe null_blk nr_devices=0
    mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
    mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
    mkdir "$NULLB"
    local setting
    for setting in size=2 memory_backed=1 blocksize=512 irqmode=2 completion_nsec=20000 \
        submit_queues=1 power=1; do
        echo "${setting#*=}" >"$NULLB/${setting%%=*}"
    done
    # The name depends on the kernel.
    NULL=/dev/${NULLB##*/}
    [ -b "$NULL" ] || NULL=/dev/nullb$(cat "$NULLB/index")
    [ -b "$NULL" ] || fail "no device $NULL"
    dd if="$DIR/d" of="$NULL" bs=1M oflag=direct status=none
    cmp -n $((512 * 4096)) "$DIR/d" "$NULL"
}
counted() { # name...: the sum of counters; they are those of the last table
    local name total=0
    for name in "$@"; do
        total=$((total + $(awk -v n="$name" '$1 == n { s += $2 } END { print s + 0 }' \
            "$DEBUG/verity-$(majmin "$(dev v)").$(last_table)")))
    done
    echo $total
}
last_table() {
    find $DEBUG -name "verity-$(majmin "$(dev v)").*" | sed "s|.*[.]||" | sort -n | tail -n 1
}
at_least() { # least counter...
    local least=$1
    shift
    [ "$VERITY_MODULE" = rdm_verity ] || return 0
    [ "$(counted "$@")" -ge "$least" ] || fail "$*: $(counted "$@"), less than $least"
}
none() { # counter...
    [ "$VERITY_MODULE" = rdm_verity ] || return 0
    equal "$(counted "$@")" 0 "$*"
}
open_null() { data=$NULL vopen v "$@"; }
warm() { read_direct "$(dev v)" 0 4096 512; }
# 256 reads of 4 KiB, one after the other.
small_reads() { read_direct "$(dev v)" 0 4096 256; }

test_cached_and_small() {
    attach_null
    open_null try_verify_in_tasklet
    warm
    small_reads
    at_least 200 softirq
    cmp -n $((512 * 4096)) "$DIR/data" "$(dev v)"
}
# Nothing is cached: the bios fall back, and go on where they stopped.
test_missing() {
    attach_null
    open_null try_verify_in_tasklet
    dd if="$(dev v)" of="$DIR/out" bs=64K iflag=direct status=none
    cmp "$DIR/data" "$DIR/out"
    at_least 1 fallback_missing queue not_softirq_size
}
test_too_large() {
    attach_null
    open_null try_verify_in_tasklet
    warm
    read_direct "$(dev v)" 0 16384 100
    at_least 100 not_softirq_size
    at_least 100 queue task
}
# The limit of the idle class is 0.
test_idle_class() {
    attach_null
    open_null try_verify_in_tasklet
    warm
    local before=0
    [ "$VERITY_MODULE" != rdm_verity ] || before=$(counted softirq)
    ionice -c 3 dd if="$(dev v)" of=/dev/null bs=4096 count=100 iflag=direct status=none
    [ "$VERITY_MODULE" != rdm_verity ] || equal "$(counted softirq)" "$before" softirq
    at_least 100 not_softirq_size
}
test_without_the_option() {
    attach_null
    open_null
    warm
    small_reads
    none softirq
    at_least 200 queue
}
# Reads that are in flight together are hashed two at a time.
test_pairs() {
    attach_null
    open_null try_verify_in_tasklet
    warm
    fio --name=r --filename="$(dev v)" --rw=randread --bs=4k --direct=1 --ioengine=io_uring \
        --iodepth=32 --iodepth_batch=16 --size=2M --loops=8 \
        --output="$DIR/fio" || fail "$(cat "$DIR/fio")"
    [ "$VERITY_MODULE" != rdm_verity ] ||
        say "$(counted blocks_paired) in pairs, $(counted blocks_single) alone"
    at_least 100 blocks_paired
}
test_corruption() {
    attach_null
    flip "$DIR/d" $((33 * 4096))
    dd if="$DIR/d" of="$NULL" bs=1M oflag=direct status=none
    open_null try_verify_in_tasklet
    read_direct "$(dev v)" 0 4096 33
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 33
    logged "device-mapper: verity: $(majmin "$NULL"): data block 33 is corrupted"
    equal "$(dm_status v)" "0 4096 $T C -"
    at_least 1 fallback_mismatch
}

ksft_main "$@"
