#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# At most 100 corruption reports of a device and one line that says so, with
# concurrent readers; as many uevents.
# Rows: V-55 V-56; case V15
# Boot: --smp 2

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_limit() {
    local i pids=()
    attach
    sysctl -qw kernel.printk_ratelimit_burst=1000
    dd if=/dev/zero of="$DIR/d" bs=4096 count=300 conv=notrunc status=none
    vopen v ignore_corruption
    events_start
    log_mark
    for ((i = 0; i < 8; i++)); do
        dd if="$(dev v)" of=/dev/null bs=4096 iflag=direct status=none &
        pids+=($!)
    done
    wait "${pids[@]}"
    sleep 1
    kill "$MONITOR"
    # DMERR_LIMIT allows a burst of ten lines in five seconds.
    local lines
    lines=$(log_count "is corrupted")
    say "$lines corruption lines"
    [ "$lines" -ge 10 ]
    [ "$lines" -le 100 ]
    equal "$(log_count "^device-mapper: verity: $(majmin "$L0"): reached maximum errors$")" 1
    equal "$(grep -c "^DM_VERITY_ERR_BLOCK_NR=0," "$DIR/events")" 100 uevents
    equal "$(dm_status v)" "0 4096 $T C -"
    # Silence afterwards, the data still comes.
    log_mark
    read_direct "$(dev v)" 0 4096 300
    equal "$(log_count verity)" 0 "lines after the limit"
    # A new table of the same device counts afresh.
    dm_swap v "$(vtable)" --readonly
    fails "Input/output error" read_direct "$(dev v)" 0
    equal "$(dm_status v)" "0 4096 $T C -"
}

ksft_main "$@"
