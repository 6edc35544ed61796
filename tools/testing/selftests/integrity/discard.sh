#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Discarded blocks can be read, whatever the device below makes of them; with keyed tags too.
# Needs: integrity
# Rows: I-23 I-24 I-59 I-74 I-83 X-16

. "$(dirname "$0")/../lib/integrity.sh"
KEY=$(printf '5a%.0s' {1..32})

discard() { # mode [option...]
    blank L0 24M
    mode=$1 ifresh i "${@:2}"
    random "$DIR/new" 4M
    write_direct "$DIR/new" "$(dev i)" conv=fsync,notrunc
    blkdiscard -o 65536 -l 1048576 "$(dev i)"
    cat "$(dev i)" >/dev/null
    drop_caches
    cat "$(dev i)" >/dev/null
    equal "$(mismatches i)" 0
    cmp -n 65536 "$DIR/new" "$(dev i)"
    cmp -n 1048576 -i 1114112 "$DIR/new" "$(dev i)"
    dm_remove i
    mode=$1 iopen i "${@:2}"
    cat "$(dev i)" >/dev/null
    dm_remove i
}
test_direct() { discard D internal_hash:crc32c allow_discards; }
test_journal() { discard J internal_hash:crc32c allow_discards; }
test_bitmap() { discard B internal_hash:crc32c allow_discards sectors_per_bit:64; }
test_keyed() {
    discard D "internal_hash:hmac(sha256):$KEY" allow_discards_keyed legacy_recalculate
    irefused "Keyed discard cannot be disabled once enabled" EINVAL \
        "$(itable "internal_hash:hmac(sha256):$KEY")"
}
test_not_allowed() {
    blank L0 24M
    ifresh i internal_hash:crc32c
    equal "$(queue i discard_max_bytes)" 0
    dm_remove i
}

ksft_main "$@"
