#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Readers on several caches at once, while the memory is reclaimed and the limit
# changes: right data, nothing left behind.
# Time: 600
# Rows: B-02 B-03 B-24 B-25 B-27 B-34
# Modules: rdm
# Boot: --smp 2

. "$(dirname "$0")/../lib/bufio.sh"
setup() { image $((8 << 20)); }

readers() { # rounds: reads all devices, twice at the same time, and compares
    local d i good pids=()
    good=$(sum "$DIR/data")
    for d in t u v w; do
        for _ in 1 2; do
            for ((i = 0; i < $1; i++)); do
                equal "$(read_sum "$(dev $d)")" "$good" "data of $d"
            done >"$DIR/reader.$d.$BASHPID" 2>&1 &
            pids+=($!)
        done
    done
    for i in "${pids[@]}"; do wait "$i" || fail "$(cat "$DIR"/reader.*)"; done
}
devices() {
    attach
    bcreate t "$L0" 4096 4 around 16 forget 7 renew 5 hold 4
    bcreate u "$L0" 2048 1 softirq 1 ahead 32 forget 11 renew 13
    bcreate v "$L0" 65536 1 ahead 2 reset 100
    bcreate w "$L0" 4096 1 ahead 64
}
gone() {
    dm_remove t
    dm_remove u
    dm_remove v
    dm_remove w
    equal "$(current)" 0 "bytes in use after the end"
}

test_caches_dropped() {
    need_target
    defaults
    devices
    while :; do
        echo 2 >/proc/sys/vm/drop_caches
        sleep 0.2
    done &
    local dropper=$!
    readers $((LONG ? 20 : 1))
    stop $dropper
    gone
}
test_limit_changes() {
    need_target
    defaults
    devices
    while :; do
        for limit in 1 40960 1000000 300000 0; do
            set_param max_cache_size_bytes $limit
            sleep 0.3
        done
    done &
    local changer=$!
    readers $((LONG ? 20 : 1))
    stop $changer
    gone
    defaults
}
# The memory is filled, again and again.
test_memory_pressure() {
    need_target
    defaults
    devices
    hog $(($(awk '/MemAvailable/ { print $2 }' /proc/meminfo) / 1024 - 40))
    readers $((LONG ? 10 : 1))
    stop_hog
    gone
}
test_suspend_and_resume() {
    need_target
    defaults
    devices
    while :; do
        for d in t u v w; do
            dmsetup suspend ksft-$d
            dmsetup resume ksft-$d
        done
    done &
    local suspender=$!
    readers $((LONG ? 10 : 1))
    stop $suspender
    for d in t u v w; do dmsetup resume ksft-$d; done
    gone
}
# Devices come and go while others are read.
test_come_and_go() {
    need_target
    defaults
    devices
    while :; do
        dmsetup create ksft-x --table "0 16384 bufio-test $L0 0 4096 2 ahead 64"
        dd if="$(dev x)" of=/dev/null bs=64k count=20 iflag=direct status=none
        dmsetup remove --retry ksft-x
    done &
    local other=$!
    readers $((LONG ? 10 : 1))
    stop $other
    dmsetup remove --retry ksft-x 2>/dev/null || :
    gone
}

bufio_main "$@"
