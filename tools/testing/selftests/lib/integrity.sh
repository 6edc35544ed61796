# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# integrity devices. `itable` makes a table line of variables, in which every argument can be
# replaced; `iformat` makes a volume by loading a table of 8 sectors, as the tools do.

. "$(dirname "${BASH_SOURCE[0]}")/ksft.sh"

# shellcheck disable=SC2034 # the test files use it
if [ "${RDM_MODULES:-c}" = c ]; then
    KSFT_MODULES=dm_integrity
else
    KSFT_MODULES=rdm_integrity
fi
# shellcheck disable=SC2034 # the test files use it
PREFIX="device-mapper: integrity"

# A loop device over a file of zeroes.
blank() { # variable size
    local file=$DIR/$1.img
    rm -f "$file"
    truncate -s "$2" "$file"
    printf -v "$1" %s "$(loop "$file")"
}
image() { echo "$DIR/$1.img"; }

itable() { # [option...]; length=, device=, start=, tag=, mode= in front replace an argument
    local all="$*"
    echo "0 ${length:-8} ${target:-integrity} ${device:-$L0} ${start:-0} ${tag:--} ${mode:-D}" \
        "$#${all:+ $all}"
}
# The sectors that the superblock says there are.
provided() { # device
    od -An -tu8 -j 16 -N 8 "$1" | tr -d ' '
}
iformat() { # [option...]
    dm_create f "$(itable "$@")"
    dm_remove f
}
# Opens a volume in full.
iopen() { # name [option...]
    local name=$1
    shift
    dm_create "$name" "$(length=${length:-$(provided "${meta:-${device:-$L0}}")} itable "$@")"
}
# Formats, opens, and computes all tags: everything can be read from then on.
ifresh() { # name [option...]
    iformat "${@:2}" recalculate
    iopen "$@" recalculate
    irecalculated "$1"
}
irecalculated() { # name: waits until all tags are computed
    local i status
    for ((i = 0; i < 600; i++)); do
        read -r _ _ _ _ provided recalculated < <(dm_status "$1")
        [ "$provided" != "$recalculated" ] || return 0
        sleep 0.1
    done
    fail "recalculation does not end: $(dm_status "$1")"
}
mismatches() { # name
    local count
    read -r _ _ _ count _ < <(dm_status "$1")
    echo "$count"
}
write_direct() { # file device [dd operand...]
    dd if="$1" of="$2" bs="${bs:-64k}" oflag=direct conv=notrunc status=none "${@:3}"
}
# Both must be loaded for tests that compare: ours then has only its own name.
both_modules() {
    [ "${RDM_MODULES:-c}" = rdm ] || skip "compares our module with C's"
    if [ ! -e /sys/module/dm_integrity ]; then
        rmmod rdm_integrity
        modprobe dm-integrity
        insmod "$RDM_DIR/rdm_integrity.ko"
    fi
}
only_ours() {
    [ -e /sys/module/dm_integrity ] || return 0
    rmmod rdm_integrity
    rmmod dm-integrity
    insmod "$RDM_DIR/rdm_integrity.ko"
}

# The table must be refused with this text and errno.
irefused() { # "text" symbol table
    local out
    log_mark
    if out=$(dmsetup create ksft-r --table "$3" 2>&1); then
        dm_remove r
        fail "was accepted: $3"
    fi
    log_has "device-mapper: table: [0-9]+:[0-9]+: integrity: $1 \(-$2\)"
}
