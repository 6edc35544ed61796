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

setup() {
    local salt
    salt=$(veritysetup dump /dev/vdb | sed -n 's/^Salt: *\t*//p')
    echo "ROOT=$(cat /cache/images/random.root) SALT=$salt BLOCKS=131072 DBS=4096 HBS=4096" \
        "VER=1 ALG=sha256 START=1 L0=/dev/vda L1=/dev/vdb" >"$DIR/vars"
}

# Until the time is over, and the tables have changed even on a slow machine.
going() { [ "$SECONDS" -lt "$END" ] || [ "$(cat "$DIR/changes")" -lt 2 ]; }

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
dropper() {
    while going; do
        echo $((SECONDS % 3 + 1)) >/proc/sys/vm/drop_caches
        echo $((SECONDS % 4 * 524288)) >"$BUFIO/max_cache_size_bytes"
        sleep 0.7
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
        # Whoever reads it must not find it empty.
        echo $n >"$DIR/changes.new"
        mv "$DIR/changes.new" "$DIR/changes"
        sleep 0.2
    done
}

# What one round leaves behind, in kB of memory that cannot be reclaimed.
slab() {
    sync
    echo 3 >/proc/sys/vm/drop_caches
    sleep 1
    echo 3 >/proc/sys/vm/drop_caches
    awk '/^(SUnreclaim|KernelStack|Percpu):/ { n += $2 } END { print n }' /proc/meminfo
}
# Those that belong to a queue; the workers of all queues have the name of the last one.
threads() { cat /proc/[0-9]*/comm 2>/dev/null | grep -cE '^kworker/R-.*(verity|rdm|bufio)' || :; }
files() { find /sys/kernel/debug/rdm 2>/dev/null | wc -l; }
round() { # seconds
    local i pids=()
    rm -f "$DIR"/rounds?
    echo 0 >"$DIR/changes"
    END=$((SECONDS + $1))
    vopen v
    for ((i = 0; i < 8; i++)); do
        reader $i &
        pids+=($!)
    done
    dropper &
    pids+=($!)
    changer &
    pids+=($!)
    # It holds what it has for a second each time, and needs no CPU meanwhile.
    stress-ng --vm 1 --vm-bytes 180M --vm-method zero-one --vm-hang 1 --timeout "$1" \
        --temp-path "$DIR" --quiet &
    pids+=($!)
    for i in "${pids[@]}"; do wait "$i"; done
    equal "$(dm_status v)" "0 1048576 $T V -"
    dm_remove v
    echo 0 >"$BUFIO/max_cache_size_bytes"
}

test_everything_at_once() {
    local seconds=30 before after added i kernel_threads kernel_files
    [ -z "$LONG" ] || seconds=600
    trap 'echo 0 >"$BUFIO/max_cache_size_bytes"' EXIT
    # What the first use of anything allocates once is no leak.
    round 3
    kernel_threads=$(threads) kernel_files=$(files) before=$(slab)
    # A leak is there each time. What grows once is the kernel's own: more workers than before.
    for ((i = 0; i < 3; i++)); do
        round $seconds
        after=$(slab)
        say "$(cat "$DIR"/rounds? | wc -l) pieces of 8 MiB," \
            "$(cat "$DIR/changes") times other tables"
        say "memory that stays: $before kB before, $after kB after"
        [ "$(cat "$DIR"/rounds? | wc -l)" -ge 8 ]
        equal "$(cat "$BUFIO/current_allocated_bytes")" 0 "bytes of bufio"
        equal "$(cat "/sys/module/$VERITY_MODULE/refcnt")" 0 references
        equal "$(threads)" "$kernel_threads" "threads"
        equal "$(files)" "$kernel_files" "files in debugfs"
        added=$((after - before)) before=$after
        [ $added -ge 2000 ] || break
    done
    # A leak of one small object in each change of a table would be more than that.
    [ $added -lt 2000 ]
}

ksft_main "$@"
