#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every allocation of a constructor may fail: it says so and leaves nothing.
# Needs: integrity
# Rows: I-16 I-35
#
# Lane: fail
# Time: 300

. "$(dirname "$0")/../lib/integrity.sh"
AFTER=/sys/module/rdm/parameters/fail_after
KEY=$(printf '5a%.0s' {1..32})

reached() {
    local left
    read -r left <$AFTER
    echo 0 >$AFTER
    [ "$left" = 0 ]
}
constructor() { # least number of allocations, option...
    local least=$1 n=0 out
    shift
    blank L0 8M
    [ -e $AFTER ] || skip "the modules were not built with RDM_FAIL"
    iformat "$@"
    while :; do
        n=$((n + 1))
        log_mark
        echo $n >$AFTER
        if out=$(dmsetup create ksft-i --table "$(itable "$@")" 2>&1); then
            if ! reached; then dm_remove i; break; fi
            dm_remove i
        else
            reached || fail "failed without a failing allocation: $out"
            # As in C, all that goes wrong with the MAC of the journal is that there is none.
            log_has "device-mapper: table: [0-9:]+: integrity: (.* \(-ENOMEM\)|\
Invalid journal mac \(-ENOENT\))"
            [ ! -e "$(dev i)" ] || fail "allocation $n: a device is left"
        fi
        equal "$(cat /sys/module/rdm_integrity/refcnt)" 0 "references after $n"
        [ $n -lt 500 ] || fail "no end"
    done
    say "$n allocations"
    [ $n -ge "$least" ] || fail "only $n allocations were seen"
    losetup -d "$L0"
}
test_direct() { constructor 15 internal_hash:crc32c; }
test_journal() {
    mode=J constructor 18 "internal_hash:hmac(sha256):$KEY" "journal_mac:hmac(sha256):$KEY"
}
test_bitmap() { mode=B constructor 18 internal_hash:crc32c; }

ksft_main "$@"
