#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is read through the cache is what the device has, for blocks of all kinds of
# memory, smaller and larger than what is read at once, and in all ways to read.
# Time: 300
# Rows: B-01 B-05 B-06 B-07 B-08 B-09 B-15 B-17 B-19 B-23
# Modules: rdm

. "$(dirname "$0")/../lib/bufio.sh"
setup() { image $((3 << 20)); }

each_way() { # block-size
    local way
    need_target
    attach
    for way in "" "around 16" "ahead 64 forget 7 renew 5" "softirq 1 around 4 reset 50"; do
        # shellcheck disable=SC2086
        bcreate t "$L0" "$1" 2 $way
        same "$(dev t)" 4k
        # Once more, from the cache.
        same "$(dev t)" 1M
        dm_remove t
        equal "$(current)" 0 "bytes in use after the end"
    done
}
test_blocks_of_512() { each_way 512; }
test_blocks_of_4096() { each_way 4096; }
test_blocks_of_65536() { each_way 65536; }
# No powers of two: of kmalloc, and of vmalloc.
test_blocks_of_1536() { each_way 1536; }
test_blocks_of_6144() { each_way 6144; }
# The largest.
test_blocks_of_1048576() { each_way 1048576; }

test_several_held_at_once() {
    need_target
    attach
    bcreate t "$L0" 4096 4 hold 4 around 16
    same "$(dev t)"
}
test_start_in_the_middle() {
    need_target
    attach
    dm_create t "0 2048 bufio-test $L0 1536 4096 1 around 8"
    dd if="$DIR/data" of="$DIR/part" bs=512 skip=1536 count=2048 status=none
    equal "$(read_sum "$(dev t)")" "$(sum "$DIR/part")"
}
# Beyond the last whole block of the device there is nothing.
test_beyond_the_end() {
    need_target
    attach
    # 6144 sectors are 614 blocks of 5120 bytes, and 4 sectors.
    bcreate t "$L0" 5120 1 ahead 64
    read_direct "$(dev t)" 6139 512
    fails "Input/output error" read_direct "$(dev t)" 6140 512
    read_direct "$(dev t)" 6000 512 140
}

bufio_main "$@"
