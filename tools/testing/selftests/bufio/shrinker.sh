#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Reclaim gets what is cached, except for what is to be retained, and never waits for
# the device: not even if that waits for reclaim.
# Time: 400
# Rows: B-27 B-30; case B01
# Modules: rdm
# Boot: --smp 2

. "$(dirname "$0")/../lib/bufio.sh"
setup() { image $((8 << 20)); }

drop() { for _ in 1 2 3 4; do echo 2 >/proc/sys/vm/drop_caches; done; }

test_drop() {
    need_target
    defaults
    attach
    bcreate t "$L0" 4096 1 around 16
    same "$(dev t)"
    [ "$(current)" -gt 8000000 ] || fail "only $(current) in use"
    drop
    # The reserve is not in the cache.
    [ "$(current)" -le $((262144 + 4096)) ] || fail "$(current) in use after dropping the caches"
    [ "$(current)" -ge 131072 ] || fail "only $(current) retained"
    set_param retain_bytes 0
    drop
    equal "$(current)" 4096 "bytes in use when nothing is retained"
    same "$(dev t)"
    set_param retain_bytes 100000000
    drop
    [ "$(current)" -gt 8000000 ] || fail "only $(current) retained"
    defaults
}
# The device below takes 500 ms for a block; meanwhile the caches are dropped.
test_never_waits() {
    need_target
    defaults
    attach
    modprobe -q dm-delay || skip "no dm-delay"
    dm_create slow "0 $(sectors "$L0") delay $L0 0 2000"
    bcreate t "$(dev slow)" 4096 1
    local start reader
    read_direct "$(dev t)" 1 &
    reader=$!
    sleep 0.3
    start=${EPOCHREALTIME/./}
    drop
    local took=$((${EPOCHREALTIME/./} - start))
    [ -d /proc/$reader ] || skip "the read was over before the caches were dropped"
    [ $took -lt 1200000 ] || fail "dropping the caches took $took us"
    wait $reader
}
# The file below is in the page cache, and its loop device needs memory, too.
test_loop_under_pressure() {
    need_target
    defaults
    attach
    bcreate t "$L0" 4096 1 around 16
    hog $(($(awk '/MemAvailable/ { print $2 }' /proc/meminfo) / 1024 - 40))
    while :; do
        drop
        sleep 0.3
    done &
    local dropper=$! i
    for ((i = 0; i < (LONG ? 20 : 2); i++)); do
        same "$(dev t)"
        same "$(dev t)" 4k
    done
    stop $dropper
    stop_hog
}

bufio_main "$@"
