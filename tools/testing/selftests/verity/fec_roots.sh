#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every number of roots repairs as many blocks of a codeword as it has roots, also
# where the parity of a codeword begins in one block and ends in the next.
# Rows: V-30 V-54 V-75; case V01
# Time: 400

. "$(dirname "$0")/../lib/fec.sh"

# Eight data blocks and a hash block, each in a region of its own: all codewords have
# a byte of each.
one() { # roots
    local block bad=$(($1 < 8 ? $1 : 8))
    fformat 8 "$1" --data-block-size=512
    fattach
    # Some bytes of a block, found without the hash tree.
    dd if=/dev/zero of="$DIR/d" conv=notrunc bs=1 count=4 seek=4 status=none
    fopen v
    read_direct "$(dev v)" 0 512
    equal "$(dm_status v)" "0 8 $T V 1"
    # As many whole blocks as there are roots, found through the hash tree.
    for ((block = 0; block < bad; block++)); do damage d "$L0" $(((block * 3) % 8)); done
    dm_remove v
    fopen v
    for block in {0..7}; do read_direct "$(dev v)" "$block" 512; done
    equal "$(dm_status v)" "0 8 $T V $bad"
    same v
}
test_roots_2() { one 2; }
test_roots_3() { one 3; }
test_roots_4() { one 4; }
test_roots_5() { one 5; }
test_roots_6() { one 6; }
test_roots_7() { one 7; }
test_roots_8() { one 8; }
test_roots_9() { one 9; }
test_roots_10() { one 10; }
test_roots_11() { one 11; }
test_roots_12() { one 12; }
test_roots_13() { one 13; }
test_roots_14() { one 14; }
test_roots_15() { one 15; }
test_roots_16() { one 16; }
test_roots_17() { one 17; }
test_roots_18() { one 18; }
test_roots_19() { one 19; }
test_roots_20() { one 20; }
test_roots_21() { one 21; }
test_roots_22() { one 22; }
test_roots_23() { one 23; }
test_roots_24() { one 24; }

# The image of the report.
test_large_blocks() {
    local roots
    for roots in 13 17 20; do
        fformat 8 $roots
        fattach
        dd if=/dev/zero of="$DIR/d" conv=notrunc bs=1 count=4 seek=4 status=none
        damage d "$L0" 5
        fopen v
        same v
        equal "$(dm_status v)" "0 64 $T V 2"
        dm_remove v
        losetup -d "$L0" "$L1" "$L2"
    done
}
# More than one block in each region: the parity begins in the middle of a block.
far() { # roots
    local block
    fformat 300 "$1" --data-block-size=512
    fattach
    for block in 0 1 149 298 299; do damage d "$L0" "$block"; done
    fopen v
    same v
    equal "$(corrected v)" 5
    dm_remove v
    losetup -d "$L0" "$L1" "$L2"
}
test_regions_of_two_blocks() {
    local roots
    for roots in 3 17 20 23; do far $roots; done
}

ksft_main "$@"
