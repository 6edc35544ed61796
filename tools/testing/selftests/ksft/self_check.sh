#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The test library itself: a test that fails in any way is reported as failed.

. "$(dirname "$0")/../lib/verity.sh"

# Runs a test file with this body and keeps its output.
inner() { # body
    printf '. %s/verity.sh\n%s\nksft_main\n' "$KSFT_LIB" "$1" >"$DIR/inner.sh"
    bash "$DIR/inner.sh" >"$DIR/inner.out" 2>&1 && INNER=0 || INNER=$?
}
inner_fails() {
    inner "test_it() {
        $1
    }"
    grep -q '^not ok 1 it$' "$DIR/inner.out" || fail "passed: $1"
    [ "$INNER" != 0 ] || fail "exit status 0: $1"
}

test_pass() {
    inner "$(printf '%s\n' 'test_one() { true; }' \
        'test_two() { fails "No such file" cat /nonexistent; }')"
    grep -q '^1..2$' "$DIR/inner.out"
    grep -q '^ok 1 one$' "$DIR/inner.out"
    grep -q '^ok 2 two$' "$DIR/inner.out"
    equal "$INNER" 0
}
test_failures() {
    inner_fails 'false; true'
    inner_fails '[ a = b ]; true'
    inner_fails '[[ a == b ]]; true'
    inner_fails 'equal a b; true'
    inner_fails 'fails "" true; true'
    inner_fails 'fails "other text" cat /nonexistent; true'
    inner_fails 'logged "never seen"; true'
    # shellcheck disable=SC2016
    inner_fails 'x=$(false); true'
    inner_fails 'exit 4'
    inner_fails 'dm_create v nonsense; true'
}
test_skip() {
    inner 'test_it() { skip "for a reason"; }'
    grep -q '^ok 1 it # SKIP for a reason$' "$DIR/inner.out"
    equal "$INNER" 0
}
test_setup_fails() {
    inner "$(printf '%s\n' 'setup() { false; true; }' 'test_it() { true; }')"
    grep -q '^Bail out!' "$DIR/inner.out"
    [ "$INNER" != 0 ]
}
test_refused_notices() {
    local body
    body=$(printf '%s\n' 'setup() { small_image; }' tables_start 'test_it() {' 'attach;')
    inner "$body refused 'Invalid version' EINVAL \"\$(vtable)\"; }"
    grep -q '^not ok 1 it$' "$DIR/inner.out"
    inner "$body refused 'Invalid salt' EINVAL \"\$(version=7 vtable)\"; }"
    grep -q '^not ok 1 it$' "$DIR/inner.out"
    inner "$body refused 'Invalid version' ENOENT \"\$(version=7 vtable)\"; }"
    grep -q '^not ok 1 it$' "$DIR/inner.out"
    inner "$body refused 'Invalid version' EINVAL \"\$(version=7 vtable)\"; }"
    grep -q '^ok 1 it$' "$DIR/inner.out"
}

ksft_main "$@"
