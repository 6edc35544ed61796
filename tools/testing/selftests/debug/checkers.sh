#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The end of each VM with the debug kernel: no memory is left that nobody knows (with
# run-tests --leaks), and the checkers that turn themselves off when they run out of
# memory have not done so.
# Lane: debug

# The tests are called by their names.
# shellcheck disable=SC2317
. "$(dirname "$0")/../lib/ksft.sh"

LEAKS=/sys/kernel/debug/kmemleak

test_no_leaks() {
    local i
    ! grep -qw kmemleak=off /proc/cmdline || skip "run-tests --leaks was not asked for"
    # Younger objects are not looked at; what has changed since the last scan is not reported.
    sleep 6
    for i in 1 2 3; do echo scan >"$LEAKS"; done
    cat "$LEAKS" >"$DIR/leaks"
    [ ! -s "$DIR/leaks" ] || fail "$(cat "$DIR/leaks")"
}
test_locks_are_checked() { equal "$(awk '/^ debug_locks:/ { print $2 }' /proc/lockdep_stats)" 1; }
test_objects_are_checked() {
    # The pool is empty once it was turned off.
    [ "$(awk -F: '/^pool_free/ { print $2 + 0 }' /sys/kernel/debug/debug_objects/stats)" -gt 0 ]
}

ksft_main "$@"
