#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every allocation may fail: of a constructor, of reading, of loading the modules.
# Needs modules that were built with RDM_FAIL, in which the n-th allocation from now
# on fails if n is written to the parameter fail_after.
# Rows: V-01, V-13, V-15 to V-19, V-26, V-27, V-35, B-24
#
# Lane: fail
# Time: 300

# The analysis of values takes minutes here.
# shellcheck extended-analysis=false

. "$(dirname "$0")/../lib/fec.sh"

AFTER=/sys/module/rdm/parameters/fail_after

# 64 data blocks under a root and four leaves: every allocation is made, few of them often.
image() { # option...
    random "$DIR/data" $((64 * 4096))
    truncate -s 64K "$DIR/hash"
    vformat "$DIR/data" "$DIR/hash" --data-block-size=4096 "$@"
}
image_sha256() { image --hash-block-size=512 --hash=sha256 --salt=00112233; }

need_fail() { [ -e "$AFTER" ] || skip "the modules were not built with RDM_FAIL"; }

# Whether the allocation that was to fail was reached.
reached() {
    local left
    read -r left <"$AFTER"
    echo 0 >"$AFTER"
    [ "$left" = 0 ]
}
users() { cat "/sys/module/$VERITY_MODULE/refcnt"; }

# Makes a device with the n-th allocation failing, for all n. What succeeds all the same
# must work; what fails must say so and leave nothing.
constructor() { # least number of allocations, option...
    local least=$1 n=0 sum out
    shift
    attach
    sum=$(sum "$L0")
    while :; do
        n=$((n + 1))
        log_mark
        echo "$n" >"$AFTER"
        if out=$(dmsetup create ksft-v --readonly --table "$(vtable "$@")" 2>&1); then
            reached || { equal "$(sum "$(dev v)")" "$sum" "content after $n"; dm_remove v; break; }
            equal "$(sum "$(dev v)")" "$sum" "content although allocation $n failed"
            dm_remove v
        else
            reached || fail "failed without a failing allocation: $out"
            [[ $out == *"Cannot allocate memory"* ]] || fail "allocation $n: $out"
            log | grep -qE "device-mapper: table: [0-9:]+: $T: .*(Cannot|lookup failed|\
failed to allocate).* \(-ENOMEM\)" ||
                { log | sed 's/^/# log: /'; fail "allocation $n: no error text"; }
            [ ! -e "$(dev v)" ] || fail "allocation $n: a device is left"
        fi
        equal "$(users)" 0 "references after $n"
        [ "$n" -lt 500 ] || fail "no end"
    done
    say "$n allocations"
    [ "$n" -ge "$least" ] || fail "only $n allocations were seen"
    # Nothing holds the devices below.
    losetup -d "$L0" "$L1"
}

test_constructor_sha256() {
    need_fail
    image_sha256
    constructor 10
}
test_constructor_options() {
    need_fail
    image_sha256
    constructor 12 ignore_zero_blocks check_at_most_once try_verify_in_tasklet
}
test_constructor_crypto_api() {
    need_fail
    image --hash-block-size=4096 --hash=sha512 --salt=00112233
    constructor 10 ignore_zero_blocks
}
test_constructor_chromium() {
    need_fail
    image --hash-block-size=4096 --hash=sha1 --format=0
    constructor 10
}

test_constructor_parity() {
    need_fail
    fformat 64 2
    cp "$DIR/fec" "$DIR/f"
    L2=$(loop "$DIR/f")
    constructor 20 use_fec_from_device "$L2" fec_blocks "$FECBLOCKS" fec_roots 2
    losetup -d "$L2"
}

# Repairs a data block and a hash block with the n-th allocation failing.
test_repair() {
    need_fail
    local n=0
    fformat 300 2
    fattach
    damage d "$L0" 7
    damage h "$L1" 3
    fopen v
    while :; do
        n=$((n + 1))
        dmsetup suspend ksft-v
        dmsetup resume ksft-v
        echo "$n" >"$AFTER"
        read_direct "$(dev v)" 7
        read_direct "$(dev v)" 200
        reached || break
        [ "$n" -lt 3000 ] || fail "no end"
        # There are hundreds for the blocks that are read, all of one kind.
        [ "$n" -lt 40 ] || n=$((n + 96))
    done
    say "$n allocations"
    [ "$n" -gt 40 ] || fail "only $n allocations were seen"
    [[ $(dm_status v) == *" V "* ]]
}

# Reads all with the n-th allocation failing: no read may fail, as there are reserves.
reading() { # option...
    local n=0 sum
    image_sha256
    attach
    sum=$(sum "$L0")
    vopen v "$@"
    while :; do
        n=$((n + 1))
        dmsetup suspend ksft-v
        dmsetup resume ksft-v
        echo "$n" >"$AFTER"
        equal "$(dd if="$(dev v)" bs=64K iflag=direct status=none | sha256sum | cut -c1-64)" \
            "$sum" "content with allocation $n failing"
        reached || break
        [ "$n" -lt 2000 ] || fail "no end"
    done
    say "$n allocations"
    [ "$n" -gt 5 ] || fail "only $n allocations were seen"
    equal "$(dm_status v)" "0 512 $T V -"
}
test_reading() { need_fail; reading; }
test_reading_tasklet() { need_fail; reading try_verify_in_tasklet; }

# Suspending frees the hash cache and resuming tells security modules.
test_suspend_and_resume() {
    need_fail
    image_sha256
    attach
    vopen v
    local n
    for n in 1 2 3 4 5; do
        echo "$n" >"$AFTER"
        dmsetup suspend ksft-v
        dmsetup resume ksft-v
        reached || :
        read_direct "$(dev v)" 0
    done
}

unload_targets() {
    local m
    for m in "$1"/rdm_*.ko; do
        m=$(basename "$m" .ko)
        [ ! -e "/sys/module/$m" ] || rmmod "$m"
    done
}
# Loads the modules with the n-th allocation failing.
test_loading() {
    need_fail
    local dir m n=0
    dir=/rdm/build-fail
    [ -e "$dir"/rdm.ko ] || skip "no modules in $dir"
    unload_targets "$dir"
    rmmod rdm
    while :; do
        n=$((n + 1))
        if insmod "$dir"/rdm.ko fail_after="$n" 2>/dev/null; then
            for m in "$dir"/rdm_*.ko; do insmod "$m" 2>/dev/null || :; done
            unload_targets "$dir"
            if reached; then rmmod rdm; else break; fi
        fi
        [ "$n" -lt 100 ] || fail "no end"
    done
    say "$n allocations"
    for m in "$dir"/rdm_*.ko; do insmod "$m"; done
    image_sha256
    attach
    vopen v
    read_direct "$(dev v)" 0
}

ksft_main "$@"
