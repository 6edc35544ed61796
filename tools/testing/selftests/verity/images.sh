#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Whole file system images, mounted and read to the end: 1 GiB of ext4, erofs, squashfs.
# Rows: V-48 V-49; case V13
# Boot: --smp 2 --disk 1100M --disk 64M
# Time: 300

. "$(dirname "$0")/../lib/verity.sh"
TREE=/usr/share/perl
files() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum) | sha256sum; }
setup() { echo "WANT='$(files $TREE)'" >>"$DIR/vars"; mkdir -p "$DIR/mnt"; }

check_image() { # data, file system type
    vformat "$1" "${2:-/dev/vdb}"
    veritysetup open "$1" ksft-v "${2:-/dev/vdb}" "$ROOT"
    mount -r "$(dev v)" "$DIR/mnt"
    equal "$(files "$DIR/mnt")" "$WANT"
    umount "$DIR/mnt"
    cmp "$(dev v)" "$1" -n "$(blockdev --getsize64 "$(dev v)")"
    equal "$(dmsetup status ksft-v | cut -d' ' -f4)" V
    veritysetup close ksft-v
}
test_ext4_of_1_gib() {
    mkfs.ext4 -q -b 4096 -d $TREE /dev/vda 1G
    vformat /dev/vda /dev/vdb --data-blocks=262144
    veritysetup open /dev/vda ksft-v /dev/vdb "$ROOT"
    equal "$(blockdev --getsize64 "$(dev v)")" $((1 << 30))
    mount -r "$(dev v)" "$DIR/mnt"
    equal "$(files "$DIR/mnt")" "$WANT"
    umount "$DIR/mnt"
    dd if="$(dev v)" of=/dev/null bs=1M iflag=direct status=none
    equal "$(dmsetup status ksft-v | cut -d' ' -f4)" V
    veritysetup close ksft-v
}
test_erofs() {
    modprobe erofs
    mkfs.erofs --quiet "$DIR/erofs" $TREE
    truncate -s %4096 "$DIR/erofs"
    check_image "$DIR/erofs"
}
test_squashfs() {
    modprobe squashfs
    mksquashfs $TREE "$DIR/squashfs" -quiet -no-progress -comp gzip -Xcompression-level 1
    truncate -s %4096 "$DIR/squashfs"
    check_image "$DIR/squashfs"
}

ksft_main "$@"
