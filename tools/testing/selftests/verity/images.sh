#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Whole file system images, mounted and read to the end: 1 GiB of ext4, erofs, squashfs.
# Rows: V-48 V-49; case V13
# Images: ext4 erofs squashfs
# Boot: --smp 2
# Time: 300

. "$(dirname "$0")/../lib/verity.sh"
files() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum) | sha256sum; }

# Disks in the order of the line above: data and hashes of each.
image() { # name, data, hash, directory with the files
    veritysetup open "$2" ksft-v "$3" "$(cat "/cache/images/$1.root")"
    mkdir -p "$DIR/mnt"
    mount -r "$(dev v)" "$DIR/mnt"
    equal "$(files "$DIR/mnt/$4")" "$(cat /cache/images/files)"
    umount "$DIR/mnt"
    dd if="$(dev v)" of=/dev/null bs=1M iflag=direct status=none
    equal "$(dmsetup status ksft-v | cut -d' ' -f4)" V
    veritysetup close ksft-v
}
test_ext4_of_1_gib() {
    equal "$(blockdev --getsize64 /dev/vda)" $((1 << 30))
    image ext4 /dev/vda /dev/vdb perl
}
test_erofs() {
    modprobe erofs
    image erofs /dev/vdc /dev/vdd .
}
test_squashfs() {
    modprobe squashfs
    image squashfs /dev/vde /dev/vdf .
}
# A file system meets one damaged block.
test_damage_in_an_image() {
    flip /dev/vdc 8192
    modprobe erofs
    veritysetup open /dev/vdc ksft-v /dev/vdd "$(cat /cache/images/erofs.root)"
    log_mark
    fails "Input/output error" read_direct "$(dev v)" 2
    logged "device-mapper: verity: $(majmin /dev/vdc): data block 2 is corrupted"
    veritysetup close ksft-v
    flip /dev/vdc 8192
}

ksft_main "$@"
