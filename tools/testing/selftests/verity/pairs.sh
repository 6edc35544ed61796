#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Reads of one block that have completed by the time one of them is verified are hashed
# two at a time, and no read waits for that: each round of verification hashes at most
# one block alone. The counters in debugfs say so; the C module has none, and there it
# is only read.
# Boot: --disk 64M --smp 2

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

NULLB=/sys/kernel/config/nullb/ksft-pairs

# The data on a device that ends each request by a timer of its own, so many
# nanoseconds after it was submitted.
attach_null() { # nanoseconds
    attach
    modprobe null_blk nr_devices=0
    mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
    mkdir "$NULLB"
    local setting
    for setting in size=2 memory_backed=1 blocksize=512 irqmode=2 completion_nsec="$1" \
        submit_queues=1 power=1; do
        echo "${setting#*=}" >"$NULLB/${setting%%=*}"
    done
    DISK=/dev/${NULLB##*/}
    [ -b "$DISK" ] || DISK=/dev/nullb$(cat "$NULLB/index")
    fill_disk
}
attach_virtio() {
    attach
    DISK=/dev/vda
    [ -b "$DISK" ] || skip "no $DISK"
    fill_disk
}
fill_disk() {
    dd if="$DIR/d" of="$DISK" bs=1M oflag=direct status=none
    cmp -n $((512 * 4096)) "$DIR/d" "$DISK"
}
counted() { # name
    local file
    file=$(find /sys/kernel/debug/rdm -name "verity-$(majmin "$(dev v)").*" | sort -t. -k2n |
        tail -n 1)
    awk -v n="$1" '$1 == n { print $2 }' "$file"
}
NAMES=(blocks_paired blocks_single rounds late)
# The time that requests of the disk have taken so far, and the time, in ms: the one
# divided by the other is how many requests the disk had on average.
busy() { awk '{ print $4 }' "/sys/dev/block/$(majmin "$DISK")/stat"; }
now() { date +%s%3N; }

# Reads with 32 requests in flight, and sets PAIRED and so on to what that has counted.
deep() { # word of fio...
    mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
    data=$DISK vopen v try_verify_in_tasklet
    read_direct "$(dev v)" 0 4096 512
    local name before=() at=0 busy start
    if [ "$VERITY_MODULE" = rdm_verity ]; then
        for name in "${NAMES[@]}"; do before+=("$(counted "$name")"); done
    fi
    busy=$(busy) start=$(now)
    fio --name=r --filename="$(dev v)" --rw=randread --bs=4k --direct=1 --ioengine=io_uring \
        --iodepth=32 --size=2M --io_size=16000k --norandommap "$@" --output="$DIR/fio" ||
        fail "$(cat "$DIR/fio")"
    busy=$((($(busy) - busy) * 10 / ($(now) - start)))
    [ "$VERITY_MODULE" = rdm_verity ] || return 0
    for name in "${NAMES[@]}"; do
        printf -v "${name^^}" %d $(($(counted "$name") - before[at]))
        at=$((at + 1))
    done
    say "$((BLOCKS_PAIRED * 100 / (BLOCKS_PAIRED + BLOCKS_SINGLE))) % in pairs: $BLOCKS_PAIRED," \
        "$BLOCKS_SINGLE alone, $ROUNDS rounds, $LATE came during one;" \
        "$((busy / 10)).$((busy % 10)) requests at the disk"
    equal $((BLOCKS_PAIRED + BLOCKS_SINGLE)) 4000 "blocks"
    [ "$BLOCKS_SINGLE" -le "$ROUNDS" ] || fail "$BLOCKS_SINGLE alone in $ROUNDS rounds"
}
share() { # least per cent
    [ "$VERITY_MODULE" = rdm_verity ] || return 0
    [ $((BLOCKS_PAIRED * 100)) -ge $(($1 * 4000)) ] || fail "less than $1 % in pairs"
}

# The disk needs longer for a request than it takes to submit one: they are in flight
# together, and each is submitted and ended by itself.
test_one_by_one() {
    attach_null 10000000
    deep
    share 70
}
# The disk is done before the next request is submitted: there are seldom two at the
# same time, whatever the depth, and no share is asked for.
test_faster_than_they_are_submitted() {
    attach_null 1000
    deep
}
test_virtio_one_by_one() {
    attach_virtio
    deep
}
test_virtio_submitted_together() {
    attach_virtio
    deep --iodepth_batch=16 --iodepth_batch_complete_min=16
    share 90
}

ksft_main "$@"
