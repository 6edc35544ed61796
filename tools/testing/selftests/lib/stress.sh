# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Everything at once on a device: what a stress test does besides its own load, and what must not
# be left behind. After the library of its target.
#
# The test has MODULE, its module; CHANGES, how many tables there have to be in each round; and
# QUEUES, a pattern for the names of its queues.

# Until the time is over, and the tables have changed even on a slow machine.
going() { [ "$SECONDS" -lt "$END" ] || [ "$(cat "$DIR/changes")" -lt "$CHANGES" ]; }

# Whoever reads the number must not find the file empty.
changed() { # times
    echo "$1" >"$DIR/changes.new"
    mv "$DIR/changes.new" "$DIR/changes"
}

dropper() {
    while going; do
        echo $((SECONDS % 3 + 1)) >/proc/sys/vm/drop_caches
        echo $((SECONDS % 4 * 524288)) >"$BUFIO/max_cache_size_bytes"
        sleep 0.7
    done
}

# It holds what it has for a second each time, and needs no CPU meanwhile.
memory_hog() { # size seconds
    stress-ng --vm 1 --vm-bytes "$1" --vm-method zero-one --vm-hang 1 --timeout "$2" \
        --temp-path "$DIR" --quiet
}

# Starts a round, in which all of this is going on.
begin() { # seconds
    echo 0 >"$DIR/changes"
    END=$((SECONDS + $1)) PARTS=()
}
part() { # command...
    "$@" &
    PARTS+=($!)
}
# Fails if one of the parts has failed.
finish() {
    local i
    for i in "${PARTS[@]}"; do wait "$i"; done
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
threads() { cat /proc/[0-9]*/comm 2>/dev/null | grep -cE "^kworker/R-.*($QUEUES|rdm|bufio)" || :; }
files() { find /sys/kernel/debug/rdm 2>/dev/null | wc -l; }

# Rounds, as `round` makes them and `report` looks at them, until one leaves nothing behind.
rounds() { # seconds
    local before after added i kernel_threads kernel_files
    trap 'echo 0 >"$BUFIO/max_cache_size_bytes"' EXIT
    # What the first use of anything allocates once is no leak.
    round 3
    kernel_threads=$(threads) kernel_files=$(files) before=$(slab)
    # A leak is there each time. What grows once is the kernel's own: more workers than before.
    for ((i = 0; i < 3; i++)); do
        round "$1"
        after=$(slab)
        report
        say "memory that stays: $before kB before, $after kB after"
        equal "$(cat "$BUFIO/current_allocated_bytes")" 0 "bytes of bufio"
        equal "$(cat "/sys/module/$MODULE/refcnt")" 0 references
        equal "$(threads)" "$kernel_threads" "threads"
        equal "$(files)" "$kernel_files" "files in debugfs"
        added=$((after - before)) before=$after
        [ $added -ge 2000 ] || break
    done
    # A leak of one small object in each change of a table would be more than that.
    [ $added -lt 2000 ]
}
