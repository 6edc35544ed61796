#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What parity repairs: data and hash blocks, damaged or unreadable, and what is said
# and counted then.
# Rows: V-42 V-51 V-52 V-53 V-54 V-59; case V05
# Time: 240

. "$(dirname "$0")/../lib/fec.sh"

# Hash blocks: the root at 1, leaves at 2 to 4.
setup() {
    fformat 300 2
    fkeep
}
status() { dm_status "$1" | cut -d ' ' -f 4-; }
# A hash block was repaired. On the way, C looks at the blocks below it, finds that
# their hash block is bad, and calls that corruption.
repaired_hash() { # name number
    local letter=V
    [ "$RDM_MODULES" != c ] || letter=C
    equal "$(status "$1")" "$letter $2"
}

test_nothing_to_repair() {
    fattach
    fopen v
    same v
    equal "$(status v)" "V 0"
}
test_damaged_data() {
    fattach
    damage d "$L0" 7
    damage d "$L0" 299
    fopen v
    same v
    equal "$(status v)" "V 2"
}
# The copy in the page cache is good, but each direct read meets the damage again.
test_each_read_repairs() {
    fattach
    damage d "$L0" 7
    fopen v
    read_direct "$(dev v)" 7
    read_direct "$(dev v)" 7
    equal "$(status v)" "V 2"
}
test_several_in_one_bio() {
    fattach
    damage d "$L0" 8
    damage d "$L0" 10 2
    fopen v
    dd if="$(dev v)" of="$DIR/out" bs=64K count=1 iflag=direct status=none
    cmp "$DIR/out" <(head -c 64K "$DIR/data")
    equal "$(status v)" "V 3"
}
test_damaged_leaf_is_kept() {
    fattach
    damage h "$L1" 3
    fopen v
    read_direct "$(dev v)" 200
    repaired_hash v 1
    read_direct "$(dev v)" 201
    same v
    repaired_hash v 1
}
test_damaged_root() {
    fattach
    damage h "$L1" 1
    fopen v
    same v
    repaired_hash v 1
}
# A repair looks at the hashes of the other blocks, and meets a bad hash block that nobody wanted.
# C would restart the machine then, if the table says so; and it says the same of each data block
# under the hash block.
test_bad_hash_in_passing() {
    local mode=()
    [ "$RDM_MODULES" = c ] || mode=(restart_on_corruption)
    fattach
    damage d "$L0" 280
    damage d "$L0" 282
    damage h "$L1" 2
    fopen v "${mode[@]}"
    helper_start audit
    dd if="$(dev v)" of="$DIR/out" bs=4096 skip=280 count=1 iflag=direct status=none
    cmp "$DIR/out" <(dd if="$DIR/data" bs=4096 skip=280 count=1 status=none)
    audited " op=verify-metadata dev=$(majmin "$L0") sector=0 res=0$"
    helper_stop
    [ "$RDM_MODULES" = c ] || equal "$(grep -c " op=verify-metadata " "$DIR/audit")" 1
    equal "$(status v)" "C 1"
    # It can be repaired, all the same.
    same v
}
test_hash_is_repaired_again_after_resume() {
    fattach
    damage h "$L1" 2
    fopen v
    read_direct "$(dev v)" 5
    dmsetup suspend ksft-v
    dmsetup resume ksft-v
    read_direct "$(dev v)" 5
    repaired_hash v 2
}
test_unreadable_hash() {
    fattach
    broken h "$L1" 2 1
    hash=$(dev h) fopen v
    read_direct "$(dev v)" 5
    read_direct "$(dev v)" 6
    repaired_hash v 1
    same v
}
test_unreadable_root() {
    fattach
    broken h "$L1" 1 1
    hash=$(dev h) fopen v
    same v
    repaired_hash v 1
}
test_unreadable_data() {
    fattach
    broken d "$L0" 7 2
    data=$(dev d) fopen v
    dd if="$(dev v)" of="$DIR/out" bs=64K count=1 iflag=direct status=none
    cmp "$DIR/out" <(head -c 64K "$DIR/data")
    equal "$(status v)" "V 2"
}
# The bit of a block that was verified once says nothing of a later error.
test_unreadable_after_check_at_most_once() {
    fattach
    dmsetup create ksft-d --table "0 $(sectors "$L0") linear $L0 0"
    data=$(dev d) fopen v check_at_most_once
    read_direct "$(dev v)" 7
    equal "$(status v)" "V 0"
    dmsetup suspend --noflush ksft-d
    printf '%s\n' "0 56 linear $L0 0" "56 8 error" \
        "64 $(($(sectors "$L0") - 64)) linear $L0 64" | dmsetup reload ksft-d
    dmsetup resume ksft-d
    dd if="$(dev v)" of="$DIR/out" bs=4096 skip=7 count=1 iflag=direct status=none
    cmp "$DIR/out" <(dd if="$DIR/data" bs=4096 skip=7 count=1 status=none)
    equal "$(status v)" "V 1"
}
# A bio that was verified before fails altogether: no parity is left to help.
test_device_fails_after_check_at_most_once() {
    fattach
    dmsetup create ksft-d --table "0 $(sectors "$L0") linear $L0 0"
    data=$(dev d) fopen v check_at_most_once
    read_direct "$(dev v)" 7
    dm_swap d "0 $(sectors "$L0") error"
    drop_caches
    fails "Input/output error" read_direct "$(dev v)" 7
    equal "$(status v)" "V 0"
}
test_too_much_damage() {
    fattach
    # Blocks 0, 2, 4, ... are in the first codewords.
    damage d "$L0" 0 20
    fopen v
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 0
    equal "$(status v)" "C 0"
    logged "device-mapper: verity-fec: $(majmin "$L0"): FEC 0: failed to correct (2 erasures)"
}
test_too_much_damage_ignored() {
    fattach
    damage d "$L0" 0 20
    fopen v ignore_corruption
    read_direct "$(dev v)" 0
    equal "$(status v)" "C 0"
}
test_too_much_unreadable() {
    fattach
    broken d "$L0" 0 20
    data=$(dev d) fopen v
    # The kernel drops what is more than ten such lines in five seconds, with those of the tests
    # before.
    sleep 5
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 0
    # A failing device is not corruption.
    equal "$(status v)" "V 0"
    [ "$(log_count "FEC 0: read failed \(2\): -5")" -ge 1 ] || fail "no word of the read error"
    equal "$(log_count "is corrupted")" 0
}
test_damaged_parity() {
    fattach
    damage d "$L0" 7
    damage f "$L2" 0 100 /dev/urandom
    fopen v
    fails "Input/output error" read_direct "$(dev v)" 7
    read_direct "$(dev v)" 8
    equal "$(status v)" "C 0"
}
test_unreadable_parity() {
    fattach
    damage d "$L0" 0
    broken f "$L2" 0 1
    FEC=${FEC/$L2/$(dev f)} fopen v
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 0
    logged "device-mapper: verity-fec: $(majmin "$L0"): FEC 0: parity read failed (block 0): -5"
}
test_zero_blocks() {
    mkdir "$DIR/zero"
    cp "$DIR/data" "$DIR/zero"
    DIR=$DIR/zero
    dd if=/dev/zero of="$DIR/data" bs=4096 seek=40 count=80 conv=notrunc status=none
    vformat "$DIR/data" "$DIR/hash" --hash=sha256 --salt=00112233 \
        --fec-device="$DIR/fec" --fec-roots=2
    fattach
    # What is on the disk in place of a zero block does not matter, to parity either.
    damage d "$L0" 40 70 /dev/urandom
    damage d "$L0" 7
    fopen v ignore_zero_blocks
    same v
    equal "$(status v)" "V 1"
}
test_softirq() {
    fattach
    damage d "$L0" 7
    damage h "$L1" 3
    fopen v try_verify_in_tasklet
    read_direct "$(dev v)" 7
    read_direct "$(dev v)" 200
    same v
    repaired_hash v 3
}

ksft_main "$@"
