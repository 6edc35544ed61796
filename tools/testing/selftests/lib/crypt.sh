# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# crypt devices over a loop device of 1 MiB with zeroes.

. "$(dirname "${BASH_SOURCE[0]}")/ksft.sh"

C=${CRYPT_TARGET:-crypt}
# The keys of the golden values: 64 and 32 bytes.
KEY64=$(printf %0128d 1)
# shellcheck disable=SC2034
KEY32=$(printf %064d 1)
SIZE=2048

attach() {
    truncate -s 0 "$DIR/image"
    truncate -s $((SIZE * 512)) "$DIR/image"
    L0=$(loop "$DIR/image")
}

# A table line; size=, key=, ... in front of the call replace an argument.
ctable() { # cipher [option...]
    local cipher=$1
    shift
    local all="$*"
    echo "0 ${size:-$SIZE} ${target:-$C} $cipher ${key:-$KEY64} ${iv_offset:-0}" \
        "${device:-$L0} ${start:-0}${all:+ $# $all}"
}
copen() { # name cipher [option...]
    local name=$1
    shift
    dm_create "$name" "$(ctable "$@")"
}
# The table is refused with an error number and a text in the log.
refused() { # "strerror" "text" "SYMBOL" table
    log_mark
    if dmsetup create ksft-bad --table "$4" >"$DIR/err" 2>&1; then fail "accepted: $4"; fi
    grep -q -- "$1" "$DIR/err" || fail "'$(cat "$DIR/err")' instead of '$1' for: $4"
    log_has "device-mapper: table: [0-9:]+: $C: $2 \(-$3\)"
}

write_direct() { # device source block-size
    dd if="$2" of="$(dev "$1")" bs="$3" oflag=direct status=none
}
read_sum() { # device block-size
    dd if="$1" bs="$2" iflag=direct status=none | sha256sum | cut -c1-64
}
# What is on the device below, as the golden values have it.
below() {
    dd if="$L0" bs=64k iflag=direct status=none | sha256sum | cut -c1-32
}
