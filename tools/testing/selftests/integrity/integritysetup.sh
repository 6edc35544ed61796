#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unmodified integritysetup: format with wiping, open, status, dump, close, resize; in each mode.
# Needs: integrity
# Rows: I-25 I-26 I-37 I-41 I-42 I-43 I-77 T-16 T-17 T-18 T-25 T-30 T-31; case I03
# Time: 240

. "$(dirname "$0")/../lib/integrity.sh"

tool() { # options of format -- options of open
    local format=()
    while [ "$1" != -- ]; do format+=("$1"); shift; done
    shift
    blank L0 16M
    integritysetup format -q "${format[@]}" "$L0" >/dev/null
    integritysetup open "$@" "$L0" ksft-i
    integritysetup status ksft-i >"$DIR/status"
    grep -q "type: *INTEGRITY$" "$DIR/status"
    random "$DIR/new" 2M
    write_direct "$DIR/new" "$(dev i)" conv=fsync,notrunc
    cmp -n 2097152 "$DIR/new" "$(dev i)"
    cat "$(dev i)" >/dev/null
    integritysetup close ksft-i
    integritysetup open "$@" "$L0" ksft-i
    cmp -n 2097152 "$DIR/new" "$(dev i)"
    integritysetup status ksft-i | grep -q "failures: *0$"
    integritysetup close ksft-i
    integritysetup dump "$L0" >"$DIR/dump"
}
test_journal() { tool -- ; }
test_direct() { tool -s 4096 -- -D; }
test_bitmap() { tool -I sha256 -- -B -I sha256; }
test_old_padding() {
    tool --integrity-legacy-padding -- --integrity-legacy-padding
    ! grep -q fix_padding "$DIR/dump"
}
test_keys() {
    head -c 32 /dev/urandom >"$DIR/key"
    local hash=(-I hmac-sha256 --integrity-key-file "$DIR/key" --integrity-key-size 32)
    local mac=(--journal-integrity hmac-sha256 --journal-integrity-key-file "$DIR/key"
        --journal-integrity-key-size 32)
    tool "${hash[@]}" "${mac[@]}" -- "${hash[@]}" "${mac[@]}"
    grep -q "flags have_journal_mac fix_padding fix_hmac" "$DIR/dump"
    head -c 32 /dev/urandom >"$DIR/wrong"
    log_mark
    ! integritysetup open "${hash[@]}" "${mac[@]//key/wrong}" "$L0" ksft-i 2>/dev/null
}
test_resize() {
    blank L0 32M
    dm_create lin "0 65536 linear $L0 0"
    integritysetup format -q --no-wipe "$(dev lin)"
    integritysetup open "$(dev lin)" ksft-i
    local all
    all=$(sectors "$(dev i)")
    dd if=/dev/zero of="$(dev i)" bs=512 count="$all" oflag=direct status=none iflag=fullblock
    integritysetup resize ksft-i --size 32768
    equal "$(sectors "$(dev i)")" 32768
    dmsetup suspend ksft-i
    dmsetup suspend ksft-lin
    dmsetup reload ksft-lin --table "0 57344 linear $L0 0"
    dmsetup resume ksft-lin
    dmsetup resume ksft-i
    dmsetup suspend ksft-lin
    dmsetup reload ksft-lin --table "0 65536 linear $L0 0"
    dmsetup resume ksft-lin
    integritysetup resize ksft-i
    equal "$(sectors "$(dev i)")" "$all"
    dd if=/dev/zero of="$(dev i)" bs=64k count=200 oflag=direct status=none
    cat "$(dev i)" >/dev/null
    integritysetup close ksft-i
}

ksft_main "$@"
