#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A volume that was not closed, made and written by one target and opened by another: the journal
# is replayed, whatever it is protected with. C leaves them to ours, and ours to C.
# Rows: I-18 I-50 I-51 I-52 I-53 I-54 I-64
# Needs: integrity
# Time: 240

. "$(dirname "$0")/../lib/replay.sh"

KEY=$(printf %032d 5)
test_sectors() { each_way J internal_hash:crc32c; }
test_blocks() { each_way J internal_hash:sha1 block_size:4096; }
test_legacy_padding() { each_way J internal_hash:sha256 block_size:1024 interleave_sectors:1024; }
test_keyed() {
    each_way J "internal_hash:hmac(sha256):$KEY" "journal_mac:hmac(sha256):$KEY" \
        fix_padding fix_hmac
}
test_old_journal_mac() { each_way J internal_hash:crc32c "journal_mac:hmac(sha256):$KEY"; }
test_bitmap() { each_way B internal_hash:crc32c sectors_per_bit:64; }
test_journal_to_bitmap_and_back() {
    local other
    for other in ${TARGETS//,/ }; do
        L=$(empty d 3)
        tformat "$L" J internal_hash:crc32c
        topen v "$L" J internal_hash:crc32c
        dd if=/dev/urandom of="$(dev v)" bs=4k count=20 oflag=direct conv=fsync status=none
        cp "$DIR/d" "$DIR/copy"
        dm_remove v
        L=$(loop "$DIR/copy")
        # The journal is replayed before its place becomes a bitmap.
        target=$other topen v "$L" B internal_hash:crc32c
        recalculated v
        equal "$(bad_sectors "$(dev v)")" "" "from a journal to a bitmap"
        dd if=/dev/urandom of="$(dev v)" bs=4k seek=9 count=20 oflag=direct conv=fsync status=none
        cp "$DIR/copy" "$DIR/back"
        dm_remove v
        L=$(loop "$DIR/back")
        topen v "$L" J internal_hash:crc32c
        recalculated v
        equal "$(bad_sectors "$(dev v)")" "" "from a bitmap to a journal"
        dm_remove v
    done
}

both_main "$@"
