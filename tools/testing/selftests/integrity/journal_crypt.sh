#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Encrypted journals: those that C left are replayed by ours and the other way round, with the
# wrong key nothing is, and what cannot be set up is refused with the words of C.
# Rows: I-17 I-18 I-37 I-54 I-55 I-56 I-64 I-67 I-88
# Needs: integrity
# Time: 240

. "$(dirname "$0")/../lib/replay.sh"

KEY=$(printf %032d 5) OTHER=$(printf %032d 6)
test_encrypted_stream() { each_way J internal_hash:crc32c "journal_crypt:ctr(aes):$KEY"; }
test_encrypted_blocks() { each_way J internal_hash:crc32c "journal_crypt:cbc(aes):$KEY"; }
test_encrypted_with_mac() {
    each_way J internal_hash:sha256 block_size:4096 "journal_crypt:xts(aes):$KEY$OTHER" \
        "journal_mac:hmac(sha256):$KEY" fix_padding fix_hmac
}
# With the wrong key, or as a plain one, a journal is not one; nothing is written.
wrong() { # table's option...
    local before maker opener
    for maker in ${TARGETS//,/ }; do
        L=$(empty d 3)
        target=$maker tformat "$L" J internal_hash:crc32c "journal_crypt:$1"
        before=$(sum "$DIR/d")
        for opener in ${TARGETS//,/ }; do
            log_mark
            target=$opener topen v "$L" J internal_hash:crc32c "${@:2}"
            log_has "integrity: Error on journal commit id: -5"
            ! dd if="$(dev v)" of=/dev/null bs=4k count=1 iflag=direct status=none 2>/dev/null
            dm_remove v
        done
        losetup -d "$L"
        equal "$(sum "$DIR/d")" "$before" "$maker: the volume that was not opened"
    done
}
test_wrong_stream() {
    wrong "ctr(aes):$KEY" "journal_crypt:ctr(aes):$OTHER"
    wrong "ctr(aes):$KEY"
}
test_wrong_blocks() {
    wrong "cbc(aes):$KEY" "journal_crypt:cbc(aes):$OTHER"
    wrong "cbc(aes):$KEY"
}
# What no cipher can be made of.
refused() { # text errno journal_crypt
    local to
    for to in ${TARGETS//,/ }; do
        log_mark
        ! dmsetup create ksft-r 2>/dev/null --table \
            "$(length=8 target=$to itable "$L" J internal_hash:crc32c "journal_crypt:$3")" ||
            fail "$to took $3"
        log_has "integrity: $1 \(-$2\)"
    done
}
test_refused() {
    L=$(empty d 3)
    refused "Invalid journal cipher" ENOENT "nosuch(aes):$KEY"
    refused "Invalid journal cipher" ENOENT "sha256"
    refused "Error setting encryption key" EINVAL "cbc(aes):0011"
    refused "Unable to generate iv" ENOKEY "cbc(aes)"
    refused "Unable to generate iv" ENOKEY "ecb(aes)"
    refused "Unable to encrypt journal" ENOKEY "ctr(aes)"
    log_has "integrity: Error on encrypt: -126"
    refused "Invalid journal_crypt argument" EINVAL "cbc(aes):001"
    # The journal is not there in recovery mode.
    tformat "$L" J internal_hash:crc32c
    topen v "$L" R internal_hash:crc32c "journal_crypt:nosuch(aes)"
    dm_remove v
}
test_recorded() {
    L=$(empty d 3)
    tformat "$L" J internal_hash:crc32c "journal_crypt:ctr(aes):$KEY"
    topen v "$L" J internal_hash:crc32c "journal_crypt:ctr(aes):$KEY"
    [[ $(dmsetup table --showkeys ksft-v) == *" journal_crypt:ctr(aes):$KEY"* ]] ||
        fail "table: $(dm_table v)"
    # What is in the journal cannot be read there.
    printf 'SECRET IN THE JOURNAL%.0s' {1..200} >"$DIR/text"
    dd if="$DIR/text" of="$(dev v)" bs=4k oflag=direct conv=fsync,sync status=none
    cp "$DIR/d" "$DIR/copy"
    dm_remove v
    head -c 64K "$DIR/copy" >"$DIR/front"
    ! grep -q SECRET "$DIR/front" || fail "in clear"
}
# C keeps the bitmap in memory, and writes something else. Closed volumes go both ways.
test_encrypted_bitmap() {
    local maker opener mode
    for maker in ${TARGETS//,/ }; do
        for opener in ${TARGETS//,/ }; do
            [ "$maker" != "$opener" ] || [ "$TARGETS" = "$I" ] || continue
            L=$(empty d 3)
            target=$maker tformat "$L" B internal_hash:crc32c "journal_crypt:ctr(aes):$KEY"
            for target in $opener $maker; do
                for mode in B J; do
                    topen v "$L" $mode internal_hash:crc32c "journal_crypt:ctr(aes):$KEY"
                    dd if=/dev/urandom of="$(dev v)" bs=4k count=20 oflag=direct status=none
                    equal "$(bad_sectors "$(dev v)")" "" "$target $mode"
                    dm_remove v
                done
            done
            unset target
            losetup -d "$L"
        done
    done
}
test_encrypted_bitmap_after_crash() {
    local position crypt="journal_crypt:ctr(aes):$KEY"
    L=$(empty d 3)
    tformat "$L" B internal_hash:crc32c "$crypt"
    topen v "$L" B internal_hash:crc32c "$crypt"
    dd if=/dev/urandom of="$(dev v)" bs=4k seek=9 count=20 oflag=direct status=none
    cp "$DIR/d" "$DIR/copy"
    dm_remove v
    L=$(loop "$DIR/copy")
    topen w "$L" B internal_hash:crc32c "$crypt"
    position=$(dm_status w | cut -d' ' -f6)
    if [ "$RDM_MODULES" = c ]; then
        equal "$position" - "C has lost the bitmap"
        return
    fi
    [ "$position" != - ] || fail "the bitmap was lost"
    recalculated w
    equal "$(bad_sectors "$(dev w)")" ""
}

both_main "$@"
