#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The debug kernel reports bugs of every kind that it is there for, in code written in
# Rust, and a run with such a report fails. The first report turns lockdep off.
# Lane: debug
# Boot: --smp 2 --append kmemleak=on --expect trouble=circ.*sleep.*sleep.*leak.*free.*bound.*panic

# The tests are called by their names.
# shellcheck disable=SC2317
. "$(dirname "$0")/../lib/ksft.sh"

reports() { # bug, extended regular expression of the kernel log
    log_mark
    insmod "$RDM_DIR/planted/planted.ko" bug="$1"
    rmmod planted
    log_has "$2"
}

test_lock_order() { reports 3 "WARNING: possible circular locking dependency"; }
test_sleep_in_softirq() { reports 1 "BUG: sleeping function called from invalid context"; }
test_sleep_under_spinlock() { reports 2 "BUG: sleeping function called from invalid context"; }
test_leak() {
    local leaks=/sys/kernel/debug/kmemleak
    insmod "$RDM_DIR/planted/planted.ko" bug=4
    # Younger objects are not looked at.
    sleep 6
    log_mark
    echo scan >"$leaks"
    echo scan >"$leaks"
    log_has "kmemleak: [0-9]+ new suspected memory leaks"
    grep -q "planted" "$leaks"
    rmmod planted
}
test_use_after_free() { reports 5 "BUG: KASAN: slab-use-after-free"; }
test_out_of_bounds() { reports 6 "BUG: KASAN: slab-out-of-bounds"; }
# What panics in Rust is a BUG, which ends the process that loads the module.
test_assertion() {
    sysctl -qw kernel.panic_on_oops=0
    log_mark
    insmod "$RDM_DIR/planted/planted.ko" bug=7 || :
    log_has "panicked at .*planted.rs"
}

ksft_main "$@"
