#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Numbers of data blocks around the borders of tree levels, and a tree without levels.
# Rows: V-18 V-70 V-71 V-72 V-73

. "$(dirname "$0")/../lib/verity.sh"
setup() { random "$DIR/all" $((4100 * 512)); }

shape() { # blocks of 512 bytes, format: 16 digests in a hash block
    head -c $(($1 * 512)) "$DIR/all" >"$DIR/data"
    rm -f "$DIR/hash"
    truncate -s 256K "$DIR/hash"
    say "$1 blocks, format $2"
    vformat "$DIR/data" "$DIR/hash" --data-block-size=512 --hash-block-size=512 --salt=aa \
        --format="$2"
    attach
    vopen v
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
    equal "$(dm_status v)" "0 $1 $T V -"
    # The last block is not skipped.
    flip "$DIR/d" $(($1 * 512 - 1))
    drop_caches
    fails "Input/output error" read_direct "$(dev v)" $(($1 - 1)) 512
    dm_remove v
    losetup -d "$L0" "$L1"
}
shapes() { local f=$1 n; shift; for n; do shape "$n" "$f"; done; }

test_small() { shapes 1 2 15 16 17; }
test_small_format_0() { shapes 0 2 16 17; }
test_border_of_two_levels() { shapes 1 255 256 257; }
test_border_of_three_levels() { shapes 1 4095 4096 4097; }
test_border_format_0() { shapes 0 256 257 4097; }
# Without levels, the root digest is that of the block.
test_single_block() {
    shapes 1 1
    shapes 0 1
}
test_single_block_by_hand() {
    head -c 4096 "$DIR/all" >"$DIR/data"
    truncate -s 8K "$DIR/hash"
    attach
    ROOT=$(sum "$DIR/data") SALT=- BLOCKS=1 DBS=4096 HBS=4096 VER=1 ALG=sha256 START=0
    vopen v
    equal "$(sum "$(dev v)")" "$ROOT"
    dm_remove v
    log_mark
    root=${ROOT//[0-9]/5} vopen v
    fails "Input/output error" read_direct "$(dev v)" 0
    logged "device-mapper: verity: $(majmin "$L0"): data block 0 is corrupted"
}

ksft_main "$@"
