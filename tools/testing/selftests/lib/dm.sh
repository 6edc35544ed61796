# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Mapped devices, loop devices and files for the tests.

# shellcheck disable=SC2034 # other files use these

export DM_DISABLE_UDEV=1 LC_ALL=C.UTF-8
if [ "${RDM_MODULES:-c}" = c ]; then
    BUFIO=/sys/module/dm_bufio/parameters
    VERITY_MODULE=dm_verity
    CRYPT=/sys/module/dm_crypt/parameters
else
    BUFIO=/sys/module/rdm/parameters
    VERITY_MODULE=rdm_verity
    CRYPT=/sys/module/rdm_crypt/parameters
fi
T=${VERITY_TARGET:-verity}

dev() { echo "/dev/mapper/ksft-$1"; }

dm_create() { # name table [option...]
    local name=$1 table=$2
    shift 2
    dmsetup create "ksft-$name" --table "$table" "$@"
    [ -b "$(dev "$name")" ] || fail "no device node of $name"
}
disk() { basename "$(readlink "/sys/dev/block/$(majmin "$(dev "$1")")")"; }
queue() { cat "/sys/block/$(disk "$1")/queue/$2"; }
dm_table() { dmsetup table "ksft-$1"; }
dm_status() { dmsetup status "ksft-$1"; }
dm_remove() { dmsetup remove "ksft-$1"; }
dm_swap() { # name table: reloads a live device
    dmsetup suspend --noflush "ksft-$1"
    dmsetup reload "ksft-$1" "${@:3}" --table "$2"
    dmsetup resume "ksft-$1"
}

loop() { losetup --find --show "$@"; }
majmin() { # device
    local d
    d=$(readlink -f "$1")
    printf '%d:%d\n' 0x"$(stat -c %t "$d")" 0x"$(stat -c %T "$d")"
}
sectors() { blockdev --getsz "$1"; }

# Direct I/O: an error is that of the device, not the page cache's EIO.
read_direct() { # device block [block size] [count]
    dd if="$1" of=/dev/null bs="${3:-4096}" skip="$2" count="${4:-1}" iflag=direct status=none
}
sum() { sha256sum <"$1" | cut -c1-64; }
random() { # file bytes
    head -c "$2" /dev/urandom >"$1"
}

# Changes one byte of a file to another value.
flip() { # file offset
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf '%b' "\\x$(printf %02x $((byte ^ 0x41)))" |
        dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# Uevents of block devices go to $DIR/events until $MONITOR is killed.
events_start() {
    udevadm monitor --kernel --property --subsystem-match=block >"$DIR/events" &
    MONITOR=$!
    for _ in {1..50}; do
        ! grep -q "^KERNEL" "$DIR/events" || return 0
        sleep 0.1
    done
    fail "udevadm monitor did not start"
}
# Starts a program of lib that says "ready" when it is, with its output in $DIR/NAME.
# Its process is $HELPER.
helper_start() { # name [argument...]
    python3 "$KSFT_LIB/$1.py" "${@:2}" >"$DIR/$1" 2>&1 &
    HELPER=$!
    for _ in {1..200}; do
        ! grep -qx ready "$DIR/$1" || return 0
        kill -0 "$HELPER" || break
        sleep 0.1
    done
    fail "$1.py did not start: $(cat "$DIR/$1")"
}
helper_stop() {
    kill "$HELPER"
    wait "$HELPER" || :
}
# An audit record with that in it, which may take its time.
audited() { # extended regular expression
    for _ in {1..50}; do
        ! grep -qE -- "$1" "$DIR/audit" || return 0
        sleep 0.1
    done
    sed 's/^/# audit: /' "$DIR/audit"
    fail "no audit record: $1"
}
# Has the kernel measure tables. The policy can be set once for a boot.
ima_start() {
    local policy=/sys/kernel/security/integrity/ima/policy
    [ ! -e $policy ] || echo "measure func=CRITICAL_DATA label=device-mapper" >$policy
}
# What was measured when the last table of a device was loaded.
ima_table() { # name
    python3 - "name=ksft-$1," <<-'PY'
	import sys
	found = None
	with open("/sys/kernel/security/integrity/ima/ascii_runtime_measurements") as f:
	    for line in f:
	        _, _, _, _, event, *data = line.split()
	        text = bytes.fromhex(data[0]).decode() if event == "dm_table_load" and data else ""
	        if sys.argv[1] in text:
	            found = text
	print(found)
	PY
}
drop_caches() { sync; echo 3 >/proc/sys/vm/drop_caches; }

# What the tests have made, from sysfs: no process is started to find nothing.
ksft_mounts() {
    local where
    while read -r _ where _; do [[ $where != /tmp/ksft-* ]] || echo "$where"; done </proc/mounts
}
ksft_maps() {
    local f name
    for f in /sys/block/dm-*/dm/name; do
        if read -r name <"$f" && [[ $name == ksft-* ]]; then echo "$name"; fi
    done 2>/dev/null
}
ksft_loops() {
    local f name
    for f in /sys/block/loop*/loop/backing_file; do
        if read -r name <"$f" && [[ $name == /tmp/ksft-* ]]; then
            f=${f#/sys/block/}
            echo "/dev/${f%%/*}"
        fi
    done 2>/dev/null
}

# Removes all that the tests have made. Fails if something cannot be removed.
ksft_cleanup() {
    local i left=() name
    for i in $(jobs -p); do [ "$i" = "${TABLES_PID:-}" ] || kill "$i" 2>/dev/null; done
    mapfile -t left < <(ksft_mounts)
    for ((i = ${#left[@]} - 1; i >= 0; i--)); do umount -l "${left[i]}"; done
    for i in 1 2 3 4 5 6 7 8; do
        mapfile -t left < <(ksft_maps)
        [ ${#left[@]} -gt 0 ] || break
        for name in "${left[@]}"; do
            [ "$i" = 1 ] || dmsetup resume "$name"
            dmsetup remove "$name"
        done >/dev/null 2>&1
        [ "$i" -lt 3 ] || sleep 0.3
    done
    [ ${#left[@]} = 0 ] || { echo "# left behind: mapped devices ${left[*]}"; return 1; }
    mapfile -t left < <(ksft_loops)
    [ ${#left[@]} = 0 ] || losetup -d "${left[@]}"
    # A loop device that somebody still holds open stays.
    for i in 1 2 3 4; do
        mapfile -t left < <(ksft_loops)
        [ ${#left[@]} -gt 0 ] || break
        sleep 0.3
    done
    [ ${#left[@]} = 0 ] || { echo "# left behind: open loop devices ${left[*]}"; return 1; }
    for name in /sys/kernel/config/nullb/ksft-*; do
        [ ! -d "$name" ] || rmdir "$name" || return 1
    done
    for name in "$VERITY_MODULE" ${KSFT_MODULES:-}; do
        [ -e "/sys/module/$name" ] || continue
        read -r i <"/sys/module/$name/refcnt"
        [ "$i" = 0 ] || { echo "# left behind: $i references to $name"; return 1; }
    done
}
