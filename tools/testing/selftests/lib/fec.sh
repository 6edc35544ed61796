# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# verity devices with parity. `fformat` makes an image and its parity, `fattach`
# loop devices over copies, and the options for the table are in $FEC.

. "$(dirname "${BASH_SOURCE[0]}")/verity.sh"

# Formats a new image of so many blocks. Without metadata after the hashes.
fformat() { # blocks roots [veritysetup option...]
    local blocks=$1 size=4096 o
    ROOTS=$2
    shift 2
    for o; do case $o in --data-block-size=*) size=${o#*=} ;; esac; done
    random "$DIR/data" $((blocks * size))
    rm -f "$DIR/hash" "$DIR/fec"
    vformat "$DIR/data" "$DIR/hash" --hash=sha256 --salt=00112233 \
        --fec-device="$DIR/fec" --fec-roots="$ROOTS" \
        --data-block-size="$size" --hash-block-size="$size" "$@"
    FECBLOCKS=$((BLOCKS + $(stat -c %s "$DIR/hash") / size - START))
}
fkeep() {
    vkeep
    declare -p ROOTS FECBLOCKS | sed 's/^declare --/declare -g/' >>"$DIR/vars"
}
fattach() {
    attach
    cp "$DIR/fec" "$DIR/f"
    L2=$(loop "$DIR/f")
    FEC="use_fec_from_device $L2 fec_blocks $FECBLOCKS fec_start 0 fec_roots $ROOTS"
}
# Opens with parity, and with other options behind it.
fopen() { # name [option...]
    local name=$1
    shift
    # shellcheck disable=SC2086
    vopen "$name" $FEC "$@"
}
# What is below a loop device, changed where the kernel has no copy of it.
damage() { # file device block [count [source]]
    dd if="${5:-/dev/zero}" of="$DIR/$1" bs="$DBS" seek="$3" count="${4:-1}" \
        conv=notrunc status=none
    sync "$DIR/$1"
    blockdev --flushbufs "$2"
}
same() { # name
    equal "$(sum "$(dev "$1")")" "$(sum "$DIR/data")" "contents of $1"
}
# The number of repaired blocks that the status tells.
corrected() { dm_status "$1" | sed 's/.* //'; }
# A device over another one of which some blocks cannot be read.
broken() { # name device first count [sectors of a block]
    local unit=$((DBS / 512)) total
    total=$(sectors "$2")
    {
        [ "$3" = 0 ] || echo "0 $(($3 * unit)) linear $2 0"
        echo "$(($3 * unit)) $(($4 * unit)) error"
        [ $((($3 + $4) * unit)) -ge "$total" ] ||
            echo "$((($3 + $4) * unit)) $((total - ($3 + $4) * unit))" \
                "linear $2 $((($3 + $4) * unit))"
    } | dmsetup create "ksft-$1"
    [ -b "$(dev "$1")" ] || fail "no device node of $1"
}
