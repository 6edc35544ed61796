#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ciphers that work asynchronously, for requests: what bios have of it, and what becomes of the
# bios of a request if one fails.
# Rows: C-12 C-59 C-68
# Modules: rdm
# Time: 240

. "$(dirname "$0")/../lib/engine.sh"
C=$PLAIN-rq

# All at once, so that the block layer makes one request of them.
reads_at_once() { # blocks of 4 KiB: those that fail
    python3 "$KSFT_LIB/aio.py" "$(dev m)" 0 "$1"
}
# A read of many bios, in which one sector fails: it is the error of one of them.
one_bio_of_a_read() { # fail_after|refuse_after
    local bad
    start
    echo mq-deadline >"/sys/block/${L0#/dev/}/queue/scheduler"
    random "$DIR/data" $((SIZE * 512))
    copen m capi:xts-aes-engine-plain64
    write_direct m "$DIR/data" 64k
    set_engine request_ns 100000 requests 0 "$1" 77
    bad=$(reads_at_once 16)
    equal "$(wc -w <<<"$bad")" 1 "blocks that failed: $bad"
    equal "$(reads_at_once 16)" "" "blocks that failed afterwards"
    equal "$(read_sum "$(dev m)" 64k)" "$(sum "$DIR/data")"
}
test_error_of_one_bio() { one_bio_of_a_read fail_after; }
test_refusal_of_one_bio() { one_bio_of_a_read refuse_after; }

# A thread hands over a whole request, all bios of it.
test_bios_in_flight() {
    start
    set_engine depth 128
    copen m capi:xts-aes-engine-plain64
    set_engine request_ns 1000000 most 0
    equal "$(reads_at_once 16)" ""
    [ "$(engine most)" -ge 100 ] || fail "no more than $(engine most) requests under way"
}

engine_main "$@"
