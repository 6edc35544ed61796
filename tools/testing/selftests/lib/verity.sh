# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# verity devices. `vformat` describes an image in variables, `vtable` makes a table
# line of them, in which every argument can be replaced.

. "$(dirname "${BASH_SOURCE[0]}")/ksft.sh"
. "$KSFT_LIB/tables.sh"

# Formats and takes the parameters from what the tool says.
vformat() { # data hash [option...]
    local out
    out=$(veritysetup format "$@") || fail "veritysetup format failed: $*"
    ROOT=$(sed -n 's/^Root hash: *\t*//p' <<<"$out")
    SALT=$(sed -n 's/^Salt: *\t*//p' <<<"$out")
    BLOCKS=$(sed -n 's/^Data blocks: *\t*//p' <<<"$out")
    DBS=$(sed -n 's/^Data block size: *\t*\([0-9]*\).*/\1/p' <<<"$out")
    HBS=$(sed -n 's/^Hash block size: *\t*\([0-9]*\).*/\1/p' <<<"$out")
    VER=$(sed -n 's/^Hash type: *\t*//p' <<<"$out")
    ALG=$(sed -n 's/^Hash algorithm: *\t*//p' <<<"$out")
    START=1
    [ -n "$ROOT" ] || fail "no root hash in: $out"
}
# Keeps what vformat found for the tests of this file (in setup).
vkeep() {
    declare -p ROOT SALT BLOCKS DBS HBS VER ALG START |
        sed 's/^declare --/declare -g/' >>"$DIR/vars"
}

# The image that most tests use: 2 MiB of random data and three levels of hashes
# (512 blocks, 16 digests in a hash block of 512 bytes: 32 + 2 + 1 blocks at 1, 2, 4).
small_image() {
    random "$DIR/data" $((512 * 4096))
    truncate -s 64K "$DIR/hash"
    vformat "$DIR/data" "$DIR/hash" --data-block-size=4096 --hash-block-size=512 \
        --hash=sha256 --salt=00112233
    vkeep
}
# Loop devices over copies, so that each test may damage its own.
attach() {
    cp "$DIR/data" "$DIR/d"
    cp "$DIR/hash" "$DIR/h"
    L0=$(loop "$DIR/d")
    L1=$(loop "$DIR/h")
}

# A table line; version=, data=, ... in front of the call replace an argument.
vtable() { # [option...]
    local all="$*"
    echo "0 ${length:-$((BLOCKS * DBS / 512))} ${target:-$T} ${version:-$VER}" \
        "${data:-$L0} ${hash:-$L1} ${dbs:-$DBS} ${hbs:-$HBS} ${blocks:-$BLOCKS} ${start:-$START}" \
        "${alg:-$ALG} ${root:-$ROOT} ${salt:-$SALT}${all:+ $# $all}"
}
# The table that the kernel prints for the small image.
small_table() {
    echo "0 4096 $T 1 $(majmin "$L0") $(majmin "$L1") 4096 512 512 1 sha256 $ROOT ${salt:-$SALT}"
}
vopen() { # name [option...]
    local name=$1
    shift
    dm_create "$name" "$(vtable "$@")" --readonly
}

# The table must be refused with this text and errno, and nothing may stay.
refused() { # "text" symbol table [ro|rw]
    table_refused "$VERITY_MODULE" "$@"
}
