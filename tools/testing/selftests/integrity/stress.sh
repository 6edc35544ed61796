#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Writes that are verified, overlapping I/O and discards, while the device is suspended and
# resumed, its table is replaced by one of another mode, tags are computed anew, tables are
# refused, caches are dropped and memory is filled: the right data, no false alarm, and at the end
# no reference, no buffer and no memory is left. 10 minutes in the long lane.
# Rows: I-57 I-65 I-72 I-74 I-75 I-76 B-24 B-27 B-30; case I11
# Needs: integrity
# Boot: --smp 2 --mem 512
# Time: 300

. "$(dirname "$0")/../lib/volumes.sh"

COMMON=(internal_hash:crc32c allow_discards)
# Each has another mode than the one before, or another cache of tags.
TABLES_OF=("J" "B sectors_per_bit:64" "J buffer_sectors:1" "D" "B reset_recalculate"
    "D buffer_sectors:8" "J reset_recalculate" "D recalculate" "J commit_time:10")

# Until the time is over, and the tables have changed even on a slow machine.
going() { [ "$SECONDS" -lt "$END" ] || [ "$(cat "$DIR/changes")" -lt 3 ]; }

# Four jobs with 4 MiB each, which read back what they have written a while ago; and eight that
# read and write the same 2 MiB.
jobs_of_fio() { # seconds
    cat <<-JOBS
	[global]
	filename=$(dev v)
	direct=1
	thread
	time_based
	runtime=$1
	ioengine=libaio
	norandommap=0
	verify_fatal=1
	verify_state_save=0
	JOBS
    local at=0 size
    for size in 512 4k 16k 64k; do
        cat <<-JOB
	[verified-$size]
	bs=$size
	offset=${at}m
	size=4m
	rw=randwrite
	iodepth=8
	verify=crc32c
	verify_backlog=16
	fdatasync=50
	JOB
        at=$((at + 4))
    done
    cat <<-JOB
	[stirred]
	numjobs=8
	offset=16m
	size=2m
	rw=randrw
	bsrange=512-64k
	blockalign=512
	iodepth=4
	norandommap=1
	JOB
}
load() { # seconds
    local found
    jobs_of_fio "$1" >"$DIR/jobs"
    fio --output="$DIR/fio" "$DIR/jobs" || { tail -n 20 "$DIR/fio"; return 1; }
    found=$(grep -c 'err= 0' "$DIR/fio")
    equal "$found" 12 "jobs without an error"
    # All have written, and read back what they have, if there was time enough.
    [ "$1" -lt 10 ] || ! grep -E 'issued rwts: total=(0,|[0-9]+,0,)' "$DIR/fio"
}
# In a part of its own: discards, and what is written there afterwards.
discarder() {
    local n=0 at
    while going; do
        at=$(((18 << 20) + n * 12288 % (4 << 20)))
        blkdiscard --force --offset $at --length 65536 "$(dev v)" 2>"$DIR/tool" || return 1
        dd if="$DIR/text" of="$(dev v)" bs=4k seek=$(((at >> 12) + 2)) count=2 oflag=direct \
            conv=notrunc status=none || return 1
        cmp -n 8192 -i $((at + 8192)):0 "$(dev v)" "$DIR/text" || return 1
        # What was discarded can be read.
        read_direct "$(dev v)" $((at >> 12)) 4096 16 || return 1
        n=$((n + 1))
        sleep 0.1
    done
    echo $n >"$DIR/discards"
}
dropper() {
    while going; do
        echo $((SECONDS % 3 + 1)) >/proc/sys/vm/drop_caches
        echo $((SECONDS % 4 * 524288)) >"$BUFIO/max_cache_size_bytes"
        sleep 0.7
    done
}
table_of() { # number
    local mode options
    read -r mode options <<<"${TABLES_OF[$1 % ${#TABLES_OF[@]}]}"
    # shellcheck disable=SC2086
    itable "$L" "$mode" "${COMMON[@]}" $options
}
changer() {
    local n=1
    while going; do
        dmsetup suspend ksft-v
        dmsetup resume ksft-v
        dmsetup suspend ksft-v
        dmsetup reload ksft-v --table "$(table_of $n)"
        dmsetup resume ksft-v
        if dmsetup reload ksft-v --table "$(itable "$L" X "${COMMON[@]}")" 2>/dev/null; then
            return 1
        fi
        dmsetup reload ksft-v --table "$(table_of $n)"
        dmsetup clear ksft-v
        # Whoever reads it must not find it empty.
        echo $n >"$DIR/changes.new"
        mv "$DIR/changes.new" "$DIR/changes"
        n=$((n + 1))
        sleep 0.3
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
threads() {
    cat /proc/[0-9]*/comm 2>/dev/null | grep -cE '^kworker/R-.*(integ|rdm|bufio)' || :
}
files() { find /sys/kernel/debug/rdm 2>/dev/null | wc -l; }
round() { # seconds
    local i pids=()
    echo 0 >"$DIR/changes"
    END=$((SECONDS + $1))
    dm_create v "$(table_of 0)"
    load "$1" &
    pids+=($!)
    discarder &
    pids+=($!)
    dropper &
    pids+=($!)
    changer &
    pids+=($!)
    # It holds what it has for a second each time, and needs no CPU meanwhile.
    stress-ng --vm 1 --vm-bytes 100M --vm-method zero-one --vm-hang 1 --timeout "$1" \
        --temp-path "$DIR" --quiet &
    pids+=($!)
    for i in "${pids[@]}"; do wait "$i"; done
    equal "$(mismatches v)" 0 mismatches
    dm_remove v
    echo 0 >"$BUFIO/max_cache_size_bytes"
    topen v "$L" D "${COMMON[@]}"
    equal "$(bad_sectors "$(dev v)")" "" "sectors that cannot be read"
    dm_remove v
}

test_everything_at_once() {
    local seconds=12 before after added i kernel_threads kernel_files alarms
    [ -z "$LONG" ] || seconds=600
    trap 'echo 0 >"$BUFIO/max_cache_size_bytes"' EXIT
    random "$DIR/text" 8192
    L=$(empty d 28)
    log_mark
    tformat "$L" D "${COMMON[@]}"
    # What the first use of anything allocates once is no leak.
    round 3
    kernel_threads=$(threads) kernel_files=$(files) before=$(slab)
    # A leak is there each time. What grows once is the kernel's own: more workers than before.
    for ((i = 0; i < 3; i++)); do
        round $seconds
        after=$(slab)
        say "$(cat "$DIR/changes") times other tables, $(cat "$DIR/discards") discards"
        say "memory that stays: $before kB before, $after kB after"
        equal "$(cat "$BUFIO/current_allocated_bytes")" 0 "bytes of bufio"
        equal "$(cat "/sys/module/$KSFT_MODULES/refcnt")" 0 references
        equal "$(threads)" "$kernel_threads" "threads"
        equal "$(files)" "$kernel_files" "files in debugfs"
        added=$((after - before)) before=$after
        [ $added -ge 2000 ] || break
    done
    alarms=$(log | grep -E 'integrity: .*(Checksum|mismatch|Error on)' || :)
    equal "$alarms" "" "alarms"
    # A leak of one small object in each change of a table would be more than that.
    [ $added -lt 2000 ]
}

ksft_main "$@"
