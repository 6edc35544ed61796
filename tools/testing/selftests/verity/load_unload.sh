#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Modules are loaded and removed many times with devices in between; no memory, no
# reference and no cache is left.
# Rows: X-21 B-30 B-31 B-33
# Boot: --mem 512

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

if [ "${RDM_MODULES:-c}" = c ]; then
    load() { modprobe -a dm-verity dm-integrity dm-crypt; }
    unload() { modprobe -r dm-verity dm-integrity dm-crypt; }
else
    load() {
        local m
        insmod "$RDM_DIR/rdm.ko"
        for m in "$RDM_DIR"/rdm_*.ko; do insmod "$m"; done
    }
    unload() {
        local m
        for m in "$RDM_DIR"/rdm_*.ko; do rmmod "$m"; done
        rmmod rdm
    }
fi
slab() { # kB that the kernel holds in slabs, after a rest
    echo 3 >/proc/sys/vm/drop_caches
    sleep 1
    awk '/^SUnreclaim:/ { print $2 }' /proc/meminfo
}
cycle() {
    load
    vopen v
    read_direct "$(dev v)" 7 4096 16
    dm_remove v
    fails "" dm_create v "$(version=9 vtable)" --readonly
    equal "$(cat "$BUFIO/current_allocated_bytes")" 0 "bytes of bufio"
    equal "$(cat "/sys/module/$VERITY_MODULE/refcnt")" 0 references
    unload
    [ ! -e "/sys/module/$VERITY_MODULE" ]
}
test_cycles() {
    local i n=10 before after
    [ -z "$LONG" ] || n=100
    attach
    unload
    cycle
    cycle
    before=$(slab)
    for ((i = 0; i < n; i++)); do cycle; done
    after=$(slab)
    say "unreclaimable slab: $before kB, after $n cycles $after kB"
    [ $((after - before)) -lt $((n * 20 + 400)) ]
    load
}
# A file in debugfs that is open does not keep the module, nor miss it when it is closed.
test_open_file_in_debugfs() {
    local file
    mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
    attach
    vopen v
    file=$(echo /sys/kernel/debug/rdm/verity-*)
    if [ "${RDM_MODULES:-c}" = c ]; then
        [ ! -e "$file" ]
        return
    fi
    read_direct "$(dev v)" 0
    awk '/^(task|softirq|queue|fallback_missing) / { n += $2 } END { exit n == 0 }' "$file"
    exec {held}<"$file"
    dm_remove v
    unload
    exec {held}<&-
    load
    [ ! -e "$file" ]
}
# A module in use stays.
test_in_use() {
    attach
    vopen v
    fails "in use" rmmod "$VERITY_MODULE"
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}

ksft_main "$@"
