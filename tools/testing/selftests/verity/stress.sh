#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# 8 readers of 512 MiB, while the device is suspended and resumed, its table is replaced and
# refused, caches are dropped and the memory is filled: the right data each time, and at the
# end no reference, no buffer and no memory is left. 10 minutes in the long lane.
# Rows: V-59 V-60 V-61 B-24 B-27 B-30 B-34 X-18 X-21
# Images: random
# Boot: --smp 2 --mem 512
# Time: 300

. "$(dirname "$0")/../lib/verity.sh"
# shellcheck source=/dev/null
. "$KSFT_LIB/stress.sh"
# shellcheck disable=SC2034
MODULE=$VERITY_MODULE CHANGES=2 QUEUES=verity

setup() {
    local salt
    salt=$(veritysetup dump /dev/vdb | sed -n 's/^Salt: *\t*//p')
    echo "ROOT=$(cat /cache/images/random.root) SALT=$salt BLOCKS=131072 DBS=4096 HBS=4096" \
        "VER=1 ALG=sha256 START=1 L0=/dev/vda L1=/dev/vdb" >"$DIR/vars"
}

# Each reads pieces of 8 MiB at its own places and compares them with the disk below: every
# second one with direct I/O in pieces of another size, which keeps no data.
reader() { # number
    local at=$(($1 * 8)) sizes=(4k 16k 64k 1M) size
    size=${sizes[$1 / 2]}
    while going; do
        if [ $(($1 % 2)) = 0 ]; then
            cmp -n 8M -i $((at << 23)) "$(dev v)" /dev/vda || return 1
        else
            dd if="$(dev v)" bs="$size" skip=$((at << 23)) count=8M status=none \
                iflag=direct,skip_bytes,count_bytes |
                cmp -n 8M -i 0:$((at << 23)) - /dev/vda || return 1
        fi
        at=$(((at + 11) % 64))
        echo >>"$DIR/rounds$1"
    done
}
# Tables that differ in how reads are verified; then one that is refused, and one never used.
changer() {
    local n=0 options=("" try_verify_in_tasklet check_at_most_once ignore_zero_blocks)
    while going; do
        dmsetup suspend ksft-v
        dmsetup resume ksft-v
        # shellcheck disable=SC2086
        dm_swap v "$(vtable ${options[n % 4]})" --readonly
        if dmsetup reload ksft-v --readonly --table "$(version=9 vtable)" 2>/dev/null; then
            return 1
        fi
        dmsetup reload ksft-v --readonly --table "$(vtable)"
        dmsetup clear ksft-v
        n=$((n + 1))
        changed $n
        sleep 0.2
    done
}

round() { # seconds
    local i
    rm -f "$DIR"/rounds?
    begin "$1"
    vopen v
    for ((i = 0; i < 8; i++)); do part reader $i; done
    part dropper
    part changer
    part memory_hog 180M "$1"
    finish
    equal "$(dm_status v)" "0 1048576 $T V -"
    dm_remove v
    echo 0 >"$BUFIO/max_cache_size_bytes"
}
report() {
    local pieces
    pieces=$(cat "$DIR"/rounds? | wc -l)
    say "$pieces pieces of 8 MiB, $(cat "$DIR/changes") times other tables"
    [ "$pieces" -ge 8 ]
}

test_everything_at_once() {
    local seconds=30
    [ -z "$LONG" ] || seconds=600
    rounds $seconds
}

ksft_main "$@"
