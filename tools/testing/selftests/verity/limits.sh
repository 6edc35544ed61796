#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Block sizes the device announces, for every pair of block sizes; a file system
# with its own block size on top.
# Rows: V-62; case V13

. "$(dirname "$0")/../lib/verity.sh"

setup() {
    random "$DIR/data" 65536
    truncate -s 64K "$DIR/hash"
}

pairs() { # data block size
    local h
    for h in 512 1024 2048 4096; do
        vformat "$DIR/data" "$DIR/hash" --data-block-size="$1" --hash-block-size=$h --salt=-
        attach
        vopen v
        equal "$(blockdev --getss "$(dev v)")" "$1"
        equal "$(queue v logical_block_size)" "$1"
        equal "$(queue v physical_block_size)" "$1"
        equal "$(queue v minimum_io_size)" "$1"
        equal "$(queue v dma_alignment)" $(($1 - 1))
        equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
        dm_remove v
        losetup -d "$L0" "$L1"
    done
}
test_data_block_512() { pairs 512; }
test_data_block_1024() { pairs 1024; }
test_data_block_2048() { pairs 2048; }
test_data_block_4096() { pairs 4096; }

# A data device with larger physical blocks keeps them.
test_larger_physical_blocks() {
    vformat "$DIR/data" "$DIR/hash" --data-block-size=4096 --hash-block-size=4096
    attach
    losetup -d "$L0"
    L0=$(loop -b 4096 "$DIR/d")
    vopen v
    equal "$(queue v logical_block_size)" 4096
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}

ksft_main "$@"
