# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Integrity volumes: which targets there are, and volumes made by the ordinary tools.

. "$(dirname "${BASH_SOURCE[0]}")/ksft.sh"

# The name of the target under test, and of all that a volume has to open with. The
# tools always take `integrity`.
I=integrity TARGETS=integrity
KSFT_MODULES=dm_integrity
[ "${RDM_MODULES:-c}" = c ] || KSFT_MODULES=rdm_integrity

# Has C's target and ours in one kernel: then `integrity` is C's.
both_load() {
    [ "${RDM_MODULES:-c}" != c ] || return 0
    rmmod rdm_integrity && modprobe dm-integrity && insmod "$RDM_DIR/rdm_integrity.ko" || return
    I=rintegrity TARGETS=rintegrity,integrity
}
both_unload() {
    [ "${RDM_MODULES:-c}" != c ] || return 0
    rmmod rdm_integrity && modprobe -r dm-integrity && insmod "$RDM_DIR/rdm_integrity.ko"
}
# Instead of ksft_main, where both are wanted.
both_main() { # test...
    local status
    both_load || { echo "Bail out! C's module and ours cannot be loaded"; exit 1; }
    # Not as a part of a condition, which would turn -e off in all of it.
    (ksft_main "$@")
    status=$?
    both_unload || status=1
    return $status
}

crash() { python3 -B "$KSFT_LIB/log_writes.py" "$@"; }

# A load on a volume, the log of its writes, and how many crashes to look at.
log_load() { # mode options operations [MiB of log]
    local d
    rm -f "$DIR/image" "$DIR/log"
    truncate -s 6M "$DIR/image"
    truncate -s "${4:-100}M" "$DIR/log"
    for d in image log; do loop "$DIR/$d" >"$DIR/$d.loop"; done
    crash load --dir "$DIR" --device "$(cat "$DIR/image.loop")" \
        --log-device "$(cat "$DIR/log.loop")" --target "${MAKER:-$I}" --mode "$1" --options "$2" \
        --operations "$3"
}
log_check() { # points [option...]
    local points=(--points "$1")
    [ -z "$LONG" ] || points=()
    crash check --dir "$DIR" --device "$(cat "$DIR/image.loop")" --targets "$TARGETS" \
        "${points[@]}" "${@:2}"
}

# The tools, on a file that is made for it; the device is ksft-NAME.
iformat() { # file or device [option...]
    integritysetup format -q "$@" >"$DIR/tool" 2>&1 ||
        fail "integritysetup format $*: $(tail -n 2 "$DIR/tool")"
}
iopen() { # device name [option...]
    local device=$1 name=$2
    shift 2
    integritysetup open "$device" "ksft-$name" "$@"
}
iclose() { integritysetup close "ksft-$1"; }

# Where a text is in a file: its last place, as the journal is in front of the data.
offset_of() { # file text
    grep -abo -F -- "$2" "$1" | tail -n 1 | cut -d: -f1
}
# Field 3, counted from 1, is the recalculation.
recalculated() { # name
    local _ size position i
    for ((i = 0; i < 600; i++)); do
        read -r _ _ _ _ size position _ < <(dm_status "$1")
        [ "$position" != - ] && [ "$position" != "$size" ] || return 0
        sleep 0.1
    done
    fail "recalculation is at $position of $size"
}
mismatches() { dm_status "$1" | cut -d' ' -f4; }

# Tables of our own, for any target and all options. The size is that of the superblock,
# which is on the device that meta_device names, if one does.
provided() { # device
    dd if="$1" bs=4096 count=1 iflag=direct status=none | od -An -tu8 -j16 -N8 | tr -d ' '
}
itable() { # device mode [option...]
    local device=$1 mode=$2 meta=$1 o
    shift 2
    for o; do [[ $o != meta_device:* ]] || meta=${o#*:}; done
    echo "0 ${length:-$(provided "$meta")} ${target:-$I} $device 0 ${tag:--} $mode $# $*"
}
# Formats, as the tools do it; makes all tags valid unless wipe is empty.
tformat() { # device mode [option...]
    dm_create format "$(length=8 itable "$@")"
    dm_remove format
    [ -n "${wipe-1}" ] || return 0
    topen format "$@"
    blkdiscard --force --zeroout "$(dev format)" 2>"$DIR/tool" || fail "$(cat "$DIR/tool")"
    dm_remove format
}
topen() { # name device mode [option...]
    dm_create "$1" "$(itable "${@:2}")"
}

# A block of 4096 bytes with a text at its start; and 11 bytes of what is there.
put_text() { # device block text
    printf '%-4096s' "$3" | dd of="$1" bs=4096 seek="$2" oflag=direct conv=fsync status=none
}
text_at() { # device block
    dd if="$1" bs=4096 skip="$2" count=1 iflag=direct status=none | tr '\0' . | head -c 11
}

# An empty file of so many MiB, and its loop device.
empty() { # name MiB
    rm -f "$DIR/$1"
    truncate -s "$2M" "$DIR/$1"
    loop "$DIR/$1"
}
# What a disk was asked for, as field of /sys/block/*/stat: 1 reads, 16 flushes.
asked() { # device field
    awk -v n="$2" '{ print $n }' "/sys/dev/block/$(majmin "$1")/stat"
}

# One process does what would be many in shell.
python() { python3 -B -c "import sys; sys.path.insert(0, '$KSFT_LIB')
$1" "${@:2}"; }

# Random sectors (4 KiB) in random places, each followed by an fsync.
fsync_writes() { # device count
    python '
import mmap, os, random
fd = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
blocks = os.lseek(fd, 0, os.SEEK_END) // 4096
buffer, rng = mmap.mmap(-1, 4096), random.Random(1)
for i in range(int(sys.argv[2])):
    buffer[:] = rng.randbytes(4096)
    os.pwritev(fd, [buffer], rng.randrange(blocks) * 4096)
    os.fsync(fd)
' "$@"
}
# Sectors that cannot be read because of their tags, and the number of bigger reads
# that failed, each of which must have one of them.
bad_sectors() { # device
    python '
import os
from volume import Direct
with Direct(sys.argv[1]) as f:
    size, bad = os.lseek(f.fd, 0, os.SEEK_END), []
    for start in range(0, size, 65536):
        count = min(65536, size - start)
        if f.read(start, count) is None:
            found = [s for s in range(start, start + count, 512) if f.read(s, 512) is None]
            bad += [s // 512 for s in found] or [f"none-in-{start}"]
print(*bad)
' "$1"
}
