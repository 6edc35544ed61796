# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Volumes that were not closed, made and written by one target and opened by another.

. "$(dirname "${BASH_SOURCE[0]}")/volumes.sh"

sum_of() { dd if="$(dev "$1")" bs=64k iflag=direct status=none | sha256sum; }
replay() { # maker opener mode option...
    local target want old
    # More than one section, or the data does not stay in the journal.
    set -- "$@" journal_sectors:2000
    L=$(empty d 3)
    target=$1 tformat "$L" "${@:3}"
    target=$1 topen v "$L" "${@:3}"
    dd if=/dev/urandom of="$(dev v)" bs=4k seek=3 count=20 oflag=direct status=none
    fsync_writes "$(dev v)" 1
    cp "$DIR/d" "$DIR/copy"
    want=$(sum_of v)
    dm_remove v
    L=$(loop "$DIR/copy")
    if [ "$3" = J ]; then
        # Without the journal it would not be the same: there is something to replay.
        target=$2 topen w "$L" R "${@:4}"
        old=$(sum_of w)
        dm_remove w
        [ "$old" != "$want" ] || fail "the journal was empty"
    fi
    target=$2 topen w "$L" "${@:3}"
    recalculated w
    equal "$(sum_of w)" "$want" "$1 to $2, ${*:3}"
    equal "$(mismatches w)" 0 mismatches
    dm_remove w
    target=$2 topen w "$L" "${@:3}"
    equal "$(sum_of w)" "$want" "$1 to $2, opened again, ${*:3}"
    dm_remove w
    losetup -d "$L"
}
each_way() { # mode option...
    local maker opener
    for maker in ${TARGETS//,/ }; do
        for opener in ${TARGETS//,/ }; do
            [ "$TARGETS" = "$I" ] || [ "$maker" != "$opener" ] || [ "$maker" = "$I" ] || continue
            replay "$maker" "$opener" "$@"
        done
    done
}
