#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A block that cannot be read is an error for those who want it, and for nobody
# else; once the device can read it, so can everybody.
# Rows: B-10 B-35
# Modules: rdm
# Boot: --smp 2

. "$(dirname "$0")/../lib/bufio.sh"
setup() { image $((1 << 20)); }

good() { echo "0 2048 linear $L0 0"; }
bad() { # the block 17 of 4096 bytes cannot be read
    echo "0 136 linear $L0 0"
    echo "136 8 error"
    echo "144 1904 linear $L0 144"
}
under() {
    attach
    dm_create und "$(bad)"
}
repair() { dm_swap und "$(good)"; }

around_the_error() { # words...
    need_target
    under
    bcreate t "$(dev und)" 4096 1 "$@"
    for i in 16 18 15 19 0 31; do read_direct "$(dev t)" $i; done
    for i in 1 2 3; do fails "Input/output error" read_direct "$(dev t)" 17; done
    read_direct "$(dev t)" 16 4096 1
    read_direct "$(dev t)" 18 4096 100
    repair
    same "$(dev t)"
}
test_alone() { around_the_error; }
# All 64 blocks come with one bio, which fails.
test_with_neighbours() { around_the_error around 64; }
test_ahead() { around_the_error ahead 32; }
test_in_softirq() { around_the_error softirq 1 around 64; }

test_many_readers() {
    need_target
    under
    bcreate t "$(dev und)" 4096 1 around 32
    local i readers=()
    for i in 1 2 3 4; do
        for _ in 1 2 3 4 5; do
            fails "Input/output error" read_direct "$(dev t)" 17
            read_direct "$(dev t)" 16
            read_direct "$(dev t)" 18
        done >"$DIR/reader.$i" &
        readers+=($!)
    done
    for i in "${readers[@]}"; do wait "$i" || fail "$(cat "$DIR"/reader.*)"; done
    repair
    same "$(dev t)"
}
# Errors take no memory for long.
test_no_leak() {
    need_target
    under
    bcreate t "$(dev und)" 4096 1
    local before
    read_direct "$(dev t)" 16
    before=$(current)
    fails "Input/output error" read_direct "$(dev t)" 17
    equal "$(current)" "$before" "bytes in use after an error"
}

bufio_main "$@"
