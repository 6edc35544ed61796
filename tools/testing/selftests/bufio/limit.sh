#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# All caches together stay within the limit at every moment, but for what they have
# in reserve; a lower limit holds at once.
# Time: 300
# Rows: B-28 B-30 B-31 B-32; case B02 (without the debug kernel)
# Modules: rdm

. "$(dirname "$0")/../lib/bufio.sh"
setup() { image $((6 << 20)); }

test_default() {
    need_target
    local memory
    set_param max_cache_size_bytes 0
    memory=$(awk '/MemTotal/ { print $2 * 1024 }' /proc/meminfo)
    # 2 %, and the kernel itself is not in MemTotal.
    [ "$(param max_cache_size_bytes)" -gt $((memory / 60)) ] || fail "less than 2 % of the memory"
    [ "$(param max_cache_size_bytes)" -lt $((memory / 40)) ] || fail "more than 2 % of the memory"
}
within() { # limit words...
    local limit=$1
    shift
    defaults
    set_param max_cache_size_bytes "$limit"
    bcreate t "$L0" "$@"
    same "$(dev t)"
    [ "$(param peak_allocated_bytes)" -le "$limit" ] ||
        fail "$(param peak_allocated_bytes) bytes with a limit of $limit"
    [ "$(current)" -gt $((limit / 2)) ] || fail "only $(current) of $limit in use"
    dm_remove t
    equal "$(current)" 0 "bytes in use after the end"
    defaults
}
test_within() {
    need_target
    attach
    within 102400 4096 1
    within 102400 4096 1 ahead 64
    within 102400 4096 1 softirq 1 ahead 64
    within 1000000 4096 1 around 16
    within 200000 1536 1 around 16
    within 1000000 65536 1 ahead 4
}
test_two_clients() {
    need_target
    attach
    defaults
    set_param max_cache_size_bytes 4000000
    bcreate t "$L0" 4096 1 around 16
    bcreate u "$L0" 4096 1 around 16
    same "$(dev t)"
    same "$(dev u)"
    same "$(dev t)"
    [ "$(param peak_allocated_bytes)" -le 4000000 ] || fail "$(param peak_allocated_bytes) in use"
}
test_lowered() {
    need_target
    attach
    defaults
    bcreate t "$L0" 4096 1 around 16
    same "$(dev t)"
    [ "$(current)" -gt 6000000 ] || fail "only $(current) in use"
    set_param max_cache_size_bytes 500000
    [ "$(current)" -le 500000 ] || fail "$(current) in use after the limit was lowered"
    same "$(dev t)"
    defaults
}
# With 1 there is nothing but the reserves, and it works nevertheless.
test_nothing_but_reserves() {
    need_target
    attach
    defaults
    set_param max_cache_size_bytes 1
    bcreate t "$L0" 4096 3 around 16 hold 3
    same "$(dev t)" 1M
    equal "$(param peak_allocated_bytes)" $((3 * 4096))
    dm_remove t
    # A client without a reserve has one buffer.
    set_param peak_allocated_bytes 0
    bcreate t "$L0" 4096 0 ahead 16
    same "$(dev t)" 1M
    equal "$(param peak_allocated_bytes)" 4096
    defaults
}
test_counters() {
    need_target
    attach
    defaults
    bcreate t "$L0" 512 1
    read_direct "$(dev t)" 0 4096 10
    equal "$(param allocated_kmalloc_bytes)" "$(current)"
    [ "$(current)" -ge $((80 * 512)) ] || fail "only $(current) in use"
    dm_remove t
    bcreate t "$L0" 4096 1
    read_direct "$(dev t)" 0 4096 10
    equal "$(param allocated_get_free_pages_bytes)" "$(current)"
    equal "$(param allocated_kmalloc_bytes)" 0
    dm_remove t
    bcreate t "$L0" 6144 1
    read_direct "$(dev t)" 0 4096 12
    equal "$(param allocated_vmalloc_bytes)" "$(current)"
    dm_remove t
    equal "$(current) $(param allocated_vmalloc_bytes)" "0 0"
    [ "$(param peak_allocated_bytes)" -gt 0 ] || fail "no peak"
    set_param peak_allocated_bytes 0
    equal "$(param peak_allocated_bytes)" 0
    fails "Permission denied" set_param current_allocated_bytes 1
}

bufio_main "$@"
