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
# shellcheck source=/dev/null
. "$KSFT_LIB/stress.sh"
# shellcheck disable=SC2034
MODULE=$KSFT_MODULES CHANGES=3 QUEUES=integ

COMMON=(internal_hash:crc32c allow_discards)
# Each has another mode than the one before, or another cache of tags.
TABLES_OF=("J" "B sectors_per_bit:64" "J buffer_sectors:1" "D" "B reset_recalculate"
    "D buffer_sectors:8" "J reset_recalculate" "D recalculate" "J commit_time:10")

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
        changed $n
        n=$((n + 1))
        sleep 0.3
    done
}

round() { # seconds
    begin "$1"
    dm_create v "$(table_of 0)"
    part load "$1"
    part discarder
    part dropper
    part changer
    part memory_hog 100M "$1"
    finish
    equal "$(mismatches v)" 0 mismatches
    dm_remove v
    echo 0 >"$BUFIO/max_cache_size_bytes"
    topen v "$L" D "${COMMON[@]}"
    equal "$(bad_sectors "$(dev v)")" "" "sectors that cannot be read"
    dm_remove v
}
report() { say "$(cat "$DIR/changes") times other tables, $(cat "$DIR/discards") discards"; }

test_everything_at_once() {
    local seconds=12 alarms
    [ -z "$LONG" ] || seconds=600
    random "$DIR/text" 8192
    L=$(empty d 28)
    log_mark
    tformat "$L" D "${COMMON[@]}"
    rounds $seconds
    alarms=$(log | grep -E 'integrity: .*(Checksum|mismatch|Error on)' || :)
    equal "$alarms" "" "alarms"
}

ksft_main "$@"
