#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A changed byte in the data, in each tree level and in the root: the log line, the
# status letter, the uevent and the errno, at exactly the right block.
# Time: 300
# Rows: V-42 V-49 V-55 V-56 X-19 X-20

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

# The root is at hash block 1, the two of level 1 at 2 and 3, level 0 at 4 to 35.
damaged() { # file, offset, block to read, kind, number
    local n=$(( $5 ))
    attach
    flip "$DIR/$1" "$2"
    vopen v
    events_start
    log_mark
    fails "Input/output error" read_direct "$(dev v)" "$3"
    logged "device-mapper: verity: $(majmin "$L0"): $4 block $n is corrupted"
    equal "$(log_count "is corrupted")" 1 "reports"
    equal "$(dm_status v)" "0 4096 $T C -"
    for _ in {1..20}; do
        ! grep -q ERR_BLOCK "$DIR/events" || break
        sleep 0.1
    done
    kill "$MONITOR"
    wait "$MONITOR" || :
    local type=0
    [ "$4" = data ] || type=1
    equal "$(grep -c "^DM_VERITY_ERR_BLOCK_NR=$type,$n$" "$DIR/events")" 1 "uevents of $type,$n"
    equal "$(grep -c "^ACTION=change" "$DIR/events")" 1 "change events"
    grep -qE "^DEVNAME=(/dev/)?$(disk v)$" "$DIR/events"
}
# Blocks that need no damaged one read well.
others() { # blocks to read...
    local b
    drop_caches
    for b; do read_direct "$(dev v)" "$b"; done
}

test_first_data_block() { damaged d 0 0 data 0; others 1 511; }
test_last_byte_of_a_data_block() { damaged d $((300 * 4096 + 4095)) 300 data 300; others 299 301; }
test_last_data_block() { damaged d $((511 * 4096)) 511 data 511; others 510; }
test_digest_in_level_0() { damaged h $((4 * 512)) 0 metadata 4; others 16 511; }
test_last_byte_of_a_level_0_block() { damaged h $((5 * 512 + 511)) 16 metadata 5; others 0 32; }
test_last_level_0_block() { damaged h $((35 * 512 + 100)) 511 metadata 35; others 495 0; }
test_level_1() { damaged h $((2 * 512 + 5)) 7 metadata 2; others 256; }
test_second_level_1_block() { damaged h $((3 * 512)) 256 metadata 3; others 255; }
test_root_block() { damaged h 512 100 metadata 1; }
# Padding is hashed too.
test_padding_of_the_root_block() { damaged h 1023 100 metadata 1; }
# The superblock is nothing to the kernel.
test_superblock_is_not_read() {
    attach
    dd if=/dev/zero of="$DIR/h" bs=512 count=1 conv=notrunc status=none
    vopen v
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
    equal "$(dm_status v)" "0 4096 $T V -"
}
test_wrong_root_digest() {
    attach
    root=${ROOT//[0-9]/0} vopen v
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 0
    logged "device-mapper: verity: $(majmin "$L0"): metadata block 1 is corrupted"
}
test_wrong_salt() {
    attach
    salt=00112234 vopen v
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 9
    logged "device-mapper: verity: $(majmin "$L0"): metadata block 1 is corrupted"
}
# A wrong digest of a data block whose hash block is right is the data's fault.
test_swapped_data_blocks() {
    attach
    dd if="$DIR/data" of="$DIR/d" bs=4096 skip=10 seek=20 count=1 conv=notrunc status=none
    vopen v
    log_mark
    read_direct "$(dev v)" 10
    fails "Input/output error" read_direct "$(dev v)" 20
    logged "device-mapper: verity: $(majmin "$L0"): data block 20 is corrupted"
}
# A bio with one bad block among good ones fails as a whole, and reports that block.
test_one_bad_block_in_a_large_read() {
    attach
    flip "$DIR/d" $((77 * 4096))
    vopen v
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 0 1M
    logged "device-mapper: verity: $(majmin "$L0"): data block 77 is corrupted"
    equal "$(log_count "is corrupted")" 1
}
# A reader that goes on after errors gets all that is good.
test_all_but_the_bad_block() {
    attach
    flip "$DIR/d" $((77 * 4096))
    vopen v
    dd if="$(dev v)" of="$DIR/out" bs=4096 iflag=direct conv=noerror,sync 2>"$DIR/err" || :
    grep -q "Input/output error" "$DIR/err"
    # What a failed direct read leaves in the buffer is nobody's business.
    dd if="$DIR/data" of="$DIR/out" bs=4096 skip=77 seek=77 count=1 conv=notrunc status=none
    cmp "$DIR/out" "$DIR/data"
}

ksft_main "$@"
