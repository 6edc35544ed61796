# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Common to run and profile.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

BENCH_OUT=$RDM_TOP/build/bench
mkdir -p "$BENCH_OUT"
# One bench at a time writes here.
exec 8>"$BENCH_OUT/lock"
flock -n 8 || die "another bench is running in this tree"

# Builds what only the bench needs.
bench_tools() {
    "$RDM_TOP/scripts/prepare" kernel cloud
    "$RDM_TOP/scripts/in-root" /rdm/tools/bench/build >"$BENCH_OUT/build.log" 2>&1 8>&- ||
        { cat "$BENCH_OUT/build.log" >&2; die "the tools of the bench could not be built"; }
}

# The modules of an implementation, as scripts/vm wants to hear it.
modules_of() { # c|rust
    case $1 in
    c) echo c ;;
    rust) echo "${BENCH_MODULES:-$RDM_TOP/build}" ;;
    *) die "an implementation is c or rust, not '$1'" ;;
    esac
}

# Runs the guest's part in a VM of its own.
guest() { # c|rust, options of scripts/vm... -- options of guest.py...
    local impl=$1 vm=()
    shift
    while [ "$1" != -- ]; do vm+=("$1"); shift; done
    shift
    "$RDM_TOP/scripts/vm" run --icount --mem 2048 --timeout 1200 \
        --modules "$(modules_of "$impl")" "${vm[@]}" \
        -- python3 -B /rdm/tools/bench/guest.py --impl "$impl" "$@" 8>&-
}
