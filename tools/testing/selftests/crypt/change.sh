#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Changes while 8 jobs read and write: of the block sizes of the mapped device and of the one
# below, of the key, the table, and the size. 60 seconds each with --long.
# Rows: C-35 C-37 C-38 C-40 C-41 X-18
# Cases: B06
# Boot: --mem 768
# Time: 400

. "$(dirname "$0")/../lib/crypt.sh"
SIZE=20480
MORE=$SIZE

seconds() { if [ -n "$LONG" ]; then echo 60; else echo 4; fi; }

# Eight jobs, each of which verifies what it has written, over and over. Sets JOBS.
jobs_start() { # name [fio option...]
    local name=$1
    shift
    rm -f "$DIR/stop" "$DIR/rounds"
    (
        while [ ! -e "$DIR/stop" ]; do
            fio --name=j --filename="$(dev "$name")" --thread --numjobs=8 --size=256k \
                --offset_increment=1M --rw=randrw --bs=512 --verify=crc32c --verify_fatal=1 \
                --minimal "$@" >"$DIR/fio" 2>&1 || exit 1
            echo >>"$DIR/rounds"
        done
    ) &
    JOBS=$!
}
jobs_end() {
    touch "$DIR/stop"
    wait "$JOBS" || fail "$(cat "$DIR/fio")"
    say "$(wc -l <"$DIR/rounds") rounds of 8 jobs"
}

# The device below belongs to ours, so the kernel refuses to change its block size.
flips() { # [fio option...]
    local count refused
    attach
    copen f aes-xts-plain64
    jobs_start f "$@"
    python3 -B "$KSFT_LIB/block_size.py" "$(seconds)" "$(dev f)" "$L0" >"$DIR/flips"
    read -r count refused <"$DIR/flips"
    jobs_end
    say "$count changes, $refused refused"
    [ "$count" -ge $(($(seconds) * 200)) ] || fail "only $count changes"
}
test_flips_direct() { flips --direct=1 --ioengine=libaio --iodepth=8; }
test_flips_buffered() { flips --direct=0 --ioengine=psync; }

# The bytes of the key as the table line has them.
shown_key() { dmsetup table --showkeys ksft-c | cut -d' ' -f5; }
key_round() {
    dmsetup suspend ksft-c
    dmsetup message ksft-c 0 key wipe
    equal "$(shown_key)" "$(printf %0128d 0)"
    fails "Resource temporarily unavailable" dmsetup resume ksft-c
    dmsetup message ksft-c 0 key set "$KEY64"
    dmsetup resume ksft-c
}
# Tables with other ways of working, of which the last one is longer than any before.
table_round() { # number
    local options=("" "no_read_workqueue no_write_workqueue" "same_cpu_crypt" "high_priority")
    # shellcheck disable=SC2086
    size=$((MORE - 2048 + ($1 % 8 + 1) * 256)) dm_swap c "$(ctable aes-xts-plain64 \
        ${options[$1 % 4]})"
}
test_changes() {
    local n=0 end flipper
    attach
    size=$((MORE - 2048)) copen c aes-xts-plain64
    jobs_start c --direct=1 --ioengine=libaio --iodepth=8
    python3 -B "$KSFT_LIB/block_size.py" "$(seconds)" "$(dev c)" >"$DIR/flips" &
    flipper=$!
    end=$((SECONDS + $(seconds)))
    while [ $SECONDS -lt $end ] || [ $n -lt 3 ]; do
        key_round
        table_round $n
        n=$((n + 1))
    done
    wait $flipper
    jobs_end
    say "$n keys and tables, $(cut -d' ' -f1 "$DIR/flips") block sizes"
}
# A key that is wrong for a while garbles nothing: what was written with the right one is read.
test_wrong_key() {
    attach
    random "$DIR/data" $((SIZE * 512))
    copen w aes-xts-plain64
    write_direct w "$DIR/data" 64k
    dmsetup suspend ksft-w
    dmsetup message ksft-w 0 key set "$(printf %0128d 2)"
    dmsetup resume ksft-w
    [ "$(read_sum "$(dev w)" 64k)" != "$(sum "$DIR/data")" ]
    dmsetup suspend ksft-w
    dmsetup message ksft-w 0 key set "$KEY64"
    dmsetup resume ksft-w
    equal "$(read_sum "$(dev w)" 64k)" "$(sum "$DIR/data")"
}

ksft_main "$@"
