#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Device arguments: by path and by number, and how opening them fails.
# Rows: V-06 V-07 X-05

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }
tables_start

test_missing_device() {
    attach
    refused "Data device lookup failed" ENOENT "$(data=/dev/ksft-none vtable)"
    refused "Hash device lookup failed" ENOENT "$(hash=/dev/ksft-none vtable)"
    refused "Data device lookup failed" ENOTBLK "$(data=/dev/null vtable)"
    refused "Hash device lookup failed" ENOTBLK "$(hash=/dev/null vtable)"
}
test_bad_numbers() {
    attach
    refused "Data device lookup failed" EOVERFLOW "$(data=99999:0 vtable)"
    refused "Hash device lookup failed" EOVERFLOW "$(hash=1:9999999 vtable)"
    refused "Hash device lookup failed" ENXIO "$(hash=4000:0 vtable)"
}
test_busy_device() {
    attach
    truncate -s 2M "$DIR/other"
    mkfs.ext4 -q "$DIR/other"
    mkdir -p "$DIR/mnt"
    mount -o loop "$DIR/other" "$DIR/mnt"
    local busy
    busy=$(awk -v m="$DIR/mnt" '$2 == m { print $1 }' /proc/mounts)
    refused "Data device lookup failed" EBUSY "$(data=$busy vtable)"
    refused "Hash device lookup failed" EBUSY "$(hash=$busy vtable)"
}
test_read_only_devices() {
    attach
    losetup -d "$L0" "$L1"
    L0=$(loop -r "$DIR/d") L1=$(loop -r "$DIR/h")
    vopen v
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}
test_itself() {
    attach
    vopen v
    local self
    self=$(majmin "$(dev v)")
    fails "Invalid argument" dmsetup reload ksft-v --readonly --table "$(data=$self vtable)"
}
test_by_number() {
    attach
    data=$(majmin "$L0") hash=$(majmin "$L1") vopen v
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}
# The devices of a live table are held: nobody else gets them exclusively.
test_held_while_open() {
    attach
    vopen v
    [ -e "/sys/block/${L0#/dev/}/holders" ]
    fails "in use" mkfs.ext4 -q "$L0"
    dm_remove v
    mkfs.ext4 -qF "$L0"
}

ksft_main "$@"
