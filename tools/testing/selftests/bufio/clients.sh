#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The memory goes to the cache that uses it, not in equal parts to all of them.
# Rows: B-25 B-28; case B03
# Modules: rdm

. "$(dirname "$0")/../lib/bufio.sh"
setup() { image $((6 << 20)); }

# Reads the device three times in an order that the device does not know.
hammer() { # name
    local i
    for i in 1 2 3; do
        dd if="$(dev "$1")" of=/dev/null bs=64k iflag=direct status=none
    done
}
counted() { # name: sectors that are asked for below
    local before after
    read -r -a before < <(reads_of und)
    hammer "$1"
    read -r -a after < <(reads_of und)
    echo $((after[1] - before[1]))
}
test_idle_clients() {
    need_target
    defaults
    attach
    # Enough for one device, and for nothing else.
    set_param max_cache_size_bytes 7000000
    dm_create und "0 $(sectors "$L0") linear $L0 0"
    bcreate alone "$(dev und)" 4096 1 around 16
    local alone among i
    alone=$(counted alone)
    dm_remove alone
    for i in {1..20}; do
        bcreate "idle$i" "$L0" 4096 1 around 16
        dd if="$(dev "idle$i")" of=/dev/null bs=64k count=3 iflag=direct status=none
    done
    bcreate busy "$(dev und)" 4096 1 around 16
    among=$(counted busy)
    say "alone $alone sectors, among others $among"
    equal "$alone" "$(sectors "$L0")" "sectors read below, alone"
    [ "$among" -le $((alone * 110 / 100)) ] || fail "$among sectors instead of $alone"
    defaults
}

bufio_main "$@"
