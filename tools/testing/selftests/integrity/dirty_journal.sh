#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A volume that was not closed, made and written by one target and opened by another: the journal
# is replayed, whatever it is protected or encrypted with. C leaves them to ours, and ours to C.
# Rows: I-17 I-18 I-50 I-51 I-52 I-53 I-54 I-55 I-56 I-64
# Needs: integrity
# Time: 240

. "$(dirname "$0")/../lib/volumes.sh"

sum_of() { dd if="$(dev "$1")" bs=64k iflag=direct status=none | sha256sum; }
replay() { # maker opener mode option...
    local target want old
    # More than one section, or the data does not stay in the journal.
    set -- "$@" journal_sectors:2000
    L=$(empty d 3)
    target=$1 tformat "$L" "${@:3}"
    target=$1 topen v "$L" "${@:3}"
    dd if=/dev/urandom of="$(dev v)" bs=4k seek=3 count=20 oflag=direct status=none
    fsync_writes "$(dev v)" 1
    cp "$DIR/d" "$DIR/copy"
    want=$(sum_of v)
    dm_remove v
    L=$(loop "$DIR/copy")
    if [ "$3" = J ]; then
        # Without the journal it would not be the same: there is something to replay.
        target=$2 topen w "$L" R "${@:4}"
        old=$(sum_of w)
        dm_remove w
        [ "$old" != "$want" ] || fail "the journal was empty"
    fi
    target=$2 topen w "$L" "${@:3}"
    recalculated w
    equal "$(sum_of w)" "$want" "$1 to $2, ${*:3}"
    equal "$(mismatches w)" 0 mismatches
    dm_remove w
    target=$2 topen w "$L" "${@:3}"
    equal "$(sum_of w)" "$want" "$1 to $2, opened again, ${*:3}"
    dm_remove w
    losetup -d "$L"
}
each_way() { # mode option...
    local maker opener
    for maker in ${TARGETS//,/ }; do
        for opener in ${TARGETS//,/ }; do
            [ "$TARGETS" = "$I" ] || [ "$maker" != "$opener" ] || [ "$maker" = "$I" ] || continue
            replay "$maker" "$opener" "$@"
        done
    done
}
KEY=$(printf %032d 5)
test_sectors() { each_way J internal_hash:crc32c; }
test_blocks() { each_way J internal_hash:sha1 block_size:4096; }
test_legacy_padding() { each_way J internal_hash:sha256 block_size:1024 interleave_sectors:1024; }
test_keyed() {
    each_way J "internal_hash:hmac(sha256):$KEY" "journal_mac:hmac(sha256):$KEY" \
        fix_padding fix_hmac
}
test_old_journal_mac() { each_way J internal_hash:crc32c "journal_mac:hmac(sha256):$KEY"; }
# Ours does not encrypt journals, and must not take an encrypted one for something else.
encrypted() { # journal_crypt
    if [ "$RDM_MODULES" = c ]; then
        each_way J internal_hash:crc32c "$1"
        return
    fi
    local before
    L=$(empty d 3)
    target=integrity tformat "$L" J internal_hash:crc32c "$1"
    before=$(sum "$DIR/d")
    log_mark
    fails "Invalid argument" topen v "$L" J internal_hash:crc32c "$1"
    log_has "rintegrity: Journal encryption is not supported \(-EINVAL\)"
    dmsetup remove ksft-v 2>/dev/null || :
    equal "$(sum "$DIR/d")" "$before" "the volume that was refused"
}
test_encrypted_stream() { encrypted "journal_crypt:ctr(aes):$KEY"; }
test_encrypted_blocks() { encrypted "journal_crypt:cbc(aes):$KEY"; }
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
