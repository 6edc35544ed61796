#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every allocation of a constructor may fail: it says so and leaves nothing. On the way of a bio,
# one that fails is seen by nobody.
# Rows: C-02 C-33 C-63
# Lane: fail
# Time: 300

. "$(dirname "$0")/../lib/crypt.sh"
AFTER=/sys/module/rdm/parameters/fail_after

reached() {
    local left
    read -r left <$AFTER
    echo 0 >$AFTER
    [ "$left" = 0 ]
}
constructor() { # least number of allocations, cipher, option...
    local least=$1 n=0 out
    shift
    [ -e $AFTER ] || skip "the modules were not built with RDM_FAIL"
    [ -n "${device:-}" ] || attach
    while :; do
        n=$((n + 1))
        log_mark
        echo $n >$AFTER
        if out=$(dmsetup create ksft-c --table "$(ctable "$@")" 2>&1); then
            if ! reached; then dm_remove c; break; fi
            fail "allocation $n: the table was taken without it"
        fi
        reached || fail "failed without a failing allocation: $out"
        log_has "device-mapper: table: [0-9:]+: crypt: .* \(-ENOMEM\)"
        [ ! -e "$(dev c)" ] || fail "allocation $n: a device is left"
        equal "$(cat /sys/module/rdm_crypt/refcnt)" 0 "references after $n"
        [ $n -lt 1000 ] || fail "no end"
    done
    say "$n allocations"
    [ $n -ge "$least" ] || fail "only $n allocations were seen"
}
test_plain() { constructor 10 aes-xts-plain64; }
test_keys() { key=$KEY64 constructor 13 aes:4-cbc-plain64; }
test_essiv() { key=$KEY32 constructor 10 aes-cbc-essiv:sha256; }
test_special_mode() { key=$KEY32 constructor 15 aes-cbc-eboiv; }
test_engine() {
    [ -e $AFTER ] || skip "the modules were not built with RDM_FAIL"
    insmod "$RDM_DIR/test_engine.ko"
    constructor 50 capi:xts-aes-engine-plain64
    rmmod test_engine
}

# Writes and reads with the n-th allocation failing, up to the one that is not reached.
traffic() { # least number of allocations, cipher, option...
    local least=$1 n=0
    shift
    [ -e $AFTER ] || skip "the modules were not built with RDM_FAIL"
    [ -n "${device:-}" ] || attach
    copen t "$@"
    while :; do
        n=$((n + 1))
        random "$DIR/data" 327680
        echo $n >$AFTER
        write_direct t "$DIR/data" 160k
        dd if="$(dev t)" of="$DIR/read" bs=160k count=2 iflag=direct status=none
        cmp "$DIR/data" "$DIR/read" || fail "allocation $n: other data"
        reached || break
        [ $n -lt 1000 ] || fail "no end"
    done
    say "$n allocations"
    [ $n -ge "$least" ] || fail "only $n allocations were seen"
}
test_traffic() { traffic 2 aes-xts-plain64; }
test_traffic_at_once() { traffic 2 aes-xts-plain64 no_read_workqueue no_write_workqueue; }
test_traffic_special() { key=$KEY32 traffic 2 aes-cbc-eboiv; }
# An integrity device without a hash of its own, which has 48 bytes for each sector.
AEAD="capi:authenc(hmac(sha256),xts(aes))-random"
on_tags() { # constructor|traffic least-number-of-allocations
    local sectors
    [ -e $AFTER ] || skip "the modules were not built with RDM_FAIL"
    SIZE=32768 attach
    dm_create d "0 8 integrity $L0 0 48 D 1 block_size:512"
    dm_remove d
    sectors=$(od -An -tu8 -j16 -N8 "$L0" | tr -d ' ')
    dm_create d "0 $((sectors / 8 * 8)) integrity $L0 0 48 D 1 block_size:512"
    device=$(dev d) key=$(printf %0192d 1) "$1" "$2" "$AEAD" integrity:48:aead
    [ ! -e "$(dev t)" ] || dm_remove t
}
test_tags() { on_tags constructor 15; }
test_traffic_tags() { on_tags traffic 2; }

ksft_main "$@"
