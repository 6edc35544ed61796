# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A test file sources this, defines functions test_*, and ends with `ksft_main`.
# Each function is one KTAP result. It runs in a subshell in which any failing
# command fails the test; `skip REASON` ends it as skipped. Everything with the
# prefix ksft- is removed before and after each function, and something that
# cannot be removed is a failure too.
#
# A function setup, if there is one, makes files in $DIR once for the whole file.

set -uE
KSFT_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
KSFT_SKIP=4
# shellcheck disable=SC2034 # the test files use it
LONG=${KSFT_LONG:-}
DIR=/tmp/ksft-$$

say() { echo "# $*"; }
skip() { echo "$*" >"$DIR/.skip"; exit $KSFT_SKIP; }

# Ends the test with a reason.
fail() { say "$*"; exit 1; }

# Equality with both values shown.
equal() { # seen expected [what]
    [ "$1" = "$2" ] || fail "${3:+$3: }'$1' instead of '$2'"
}

# The command must fail, and name the error as strerror does.
fails() { # "text" command...
    local text=$1 out
    shift
    if out=$("$@" 2>&1); then fail "succeeded, but should have failed with '$text': $*"; fi
    [[ $out == *"$text"* ]] || fail "failed with '$out' instead of '$text': $*"
}

# The kernel log since the last mark.
log_mark() { dmesg -C; }
log() { dmesg --notime; }
logged() { # fixed text of a whole line
    log | grep -qxF -- "$1" && return
    log | sed 's/^/# log: /'
    fail "not in the kernel log: $1"
}
log_has() { # extended regular expression
    log | grep -qE -- "$1" && return
    log | sed 's/^/# log: /'
    fail "not in the kernel log: $1"
}
log_count() { log | grep -cE -- "$1" || :; }

ksft_trap() {
    local status=$?
    echo "# ${BASH_SOURCE[1]##*/}:${BASH_LINENO[0]}: status $status: $BASH_COMMAND" >&2
}

ksft_one() { # number function
    local status out
    ksft_cleanup
    rm -f "$DIR/.skip"
    # Neither this nor the call of this function may be part of a condition: that
    # would turn -e off, and nothing could fail.
    (
        set -e
        trap ksft_trap ERR
        "$2"
    ) >"$DIR/.out" 2>&1
    status=$?
    while IFS= read -r out; do echo "# ${out#\# }"; done <"$DIR/.out"
    [ $status != $KSFT_SKIP ] || [ -e "$DIR/.skip" ] || status=1
    out=$(ksft_cleanup) || { echo "$out"; status=1; }
    case $status in
    0) echo "ok $1 ${2#test_}" ;;
    "$KSFT_SKIP") echo "ok $1 ${2#test_} # SKIP $(cat "$DIR/.skip")" ;;
    *) echo "not ok $1 ${2#test_}"; KSFT_BAD=1 ;;
    esac
}

# Functions in the order of the file, or those named as arguments. KSFT_SHARED is a library with
# tests that come before those of the file.
ksft_main() {
    local tests=("$@") n=0 t status
    KSFT_BAD=0
    [ $# -gt 0 ] || mapfile -t tests < <(
        sed -n 's/^\(test_[a-z0-9_]*\)() *[{(].*/\1/p' "${KSFT_SHARED:-/dev/null}" "$0")
    mkdir -p "$DIR"
    modprobe -q loop
    trap 'ksft_cleanup; rm -rf "$DIR"' EXIT
    echo "KTAP version 1"
    echo "1..${#tests[@]}"
    ksft_cleanup
    if declare -F setup >/dev/null; then
        (set -e; trap ksft_trap ERR; setup) >"$DIR/.out" 2>&1
        status=$?
        if [ $status != 0 ]; then
            sed 's/^/# /' "$DIR/.out"
            echo "Bail out! setup failed"
            exit 1
        fi
        # shellcheck disable=SC1091
        [ ! -e "$DIR/vars" ] || . "$DIR/vars"
    fi
    for t in "${tests[@]}"; do
        n=$((n + 1))
        ksft_one $n "$t"
    done
    exit $KSFT_BAD
}

# shellcheck source=tools/testing/selftests/lib/dm.sh
. "$KSFT_LIB/dm.sh"
