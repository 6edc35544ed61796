#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a sync has returned for is there after a crash: a copy of the disk as it was then has it.
# Needs: integrity
# Time: 240
# Rows: I-57 I-60 I-62 I-63 I-64 I-65 I-66 I-73 I-78; cases I02 I03 I13

. "$(dirname "$0")/../lib/integrity.sh"

crash() { # mode [option...]
    blank L0 24M
    mode=$1 ifresh i "${@:2}"
    random "$DIR/new" 3M
    write_direct "$DIR/new" "$(dev i)" seek=7 conv=fsync,notrunc
    random "$DIR/small" 8K
    bs=4k write_direct "$DIR/small" "$(dev i)" seek=1024 conv=fsync,notrunc
    cp "$(image L0)" "$(image L1)"
    L1=$(loop "$(image L1)")
    device=$L1 mode=$1 iopen c "${@:2}" recalculate
    irecalculated c
    cmp -n 3145728 -i $((7 << 16)):0 "$(dev c)" "$DIR/new"
    cmp -n 8192 -i $((1024 << 12)):0 "$(dev c)" "$DIR/small"
    equal "$(mismatches c)" 0
    # All the rest is as it was, too.
    cat "$(dev c)" >/dev/null
    equal "$(sum "$(dev c)")" "$(sum "$(dev i)")"
    dm_remove c
    dm_remove i
}
test_crash_journal() { crash J internal_hash:crc32c; }
test_crash_journal_hmac() {
    local key
    key=$(printf '17%.0s' {1..32})
    crash J "internal_hash:sha256" "journal_mac:hmac(sha256):$key" fix_hmac legacy_recalculate
}
test_crash_journal_large_blocks() { crash J internal_hash:crc32c block_size:4096 commit_time:5; }
test_crash_bitmap() { crash B internal_hash:crc32c sectors_per_bit:256; }

# A journal that was closed has nothing left to be written: the disk may be read-only.
test_read_only() {
    blank L0 24M
    mode=J ifresh i internal_hash:crc32c
    random "$DIR/new" 1M
    write_direct "$DIR/new" "$(dev i)"
    dm_remove i
    L1=$(loop -r "$(image L0)")
    dmsetup create --readonly ksft-i --table \
        "$(device=$L1 mode=J length=$(provided "$L1") itable internal_hash:crc32c recalculate)"
    cmp -n 1048576 "$DIR/new" "$(dev i)"
    dm_remove i
}
# A journal of nonsense is not replayed: nothing is read from that device.
test_bad_commit_id() {
    blank L0 24M
    mode=J ifresh i internal_hash:crc32c
    dm_remove i
    random "$DIR/junk" 512
    dd if="$DIR/junk" of="$(image L0)" bs=512 seek=12 conv=notrunc status=none
    log_mark
    mode=J iopen i internal_hash:crc32c recalculate
    logged "$PREFIX: Error on journal commit id: -5"
    fails "Input/output error" read_direct "$(dev i)" 0
    fails "Input/output error" write_direct "$DIR/junk" "$(dev i)" bs=512
    dm_remove i
}
test_flushes() {
    local before after
    for m in J D B; do
        blank L0 24M
        mode=$m ifresh i internal_hash:crc32c
        read -r -a before <"/sys/block/${L0#/dev/}/stat"
        for i in {1..20}; do
            bs=4k write_direct "$(dev i)" "$(dev i)" count=1 seek="$((i * 3))" skip="$i" \
                conv=fsync,notrunc iflag=direct
        done
        read -r -a after <"/sys/block/${L0#/dev/}/stat"
        say "$m: $((after[15] - before[15])) flushes"
        [ $((after[15] - before[15])) -ge 20 ] || fail "only $((after[15] - before[15])) flushes"
        dm_remove i
    done
}

ksft_main "$@"
