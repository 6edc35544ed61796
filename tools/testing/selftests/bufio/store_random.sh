#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Random programs that write and read parts of blocks: readers see what was written, the
# device below has nothing else at any time, and has all of it when that was asked for.
# Rows: B-03 B-06 B-08 B-09 B-11 B-12 B-13 B-15 B-21 B-22 B-34
# Modules: rdm
# Boot: --smp 2
# Time: 300

. "$(dirname "$0")/../lib/bufio.sh"
setup() { image $((192 << 10)); }

programs() { # block-size seed steps
    need_target
    attach
    screate t "$L0" "$1" 4
    store_random t "$@"
    same "$(dev t)"
    dm_remove t
    equal "$(current)" 0 "bytes in use after the end"
    defaults
}
test_blocks_of_512() { programs 512 1 300; }
test_blocks_of_4096() { programs 4096 2 300; }
test_blocks_of_65536() { programs 65536 3 200; }
# No powers of two: of vmalloc, and with a size that pages do not divide.
test_blocks_of_6144() { programs 6144 4 200; }
test_blocks_of_1536() { programs 1536 5 200; }
# So little memory that blocks come and go.
test_with_little_memory() {
    need_target
    defaults
    set_param max_cache_size_bytes $((64 << 10))
    programs 8192 6 300
}
test_with_the_reserve_only() {
    need_target
    defaults
    set_param max_cache_size_bytes 1
    programs 4096 7 200
}
test_four_processes() {
    need_target
    attach
    screate t "$L0" 16384 4
    store_random t 16384 8 150 4
    same "$(dev t)"
    defaults
}
test_four_processes_with_little_memory() {
    need_target
    defaults
    set_param max_cache_size_bytes $((64 << 10))
    test_four_processes
}

bufio_main "$@"
