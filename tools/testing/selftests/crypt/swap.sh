#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Swap on crypt in a machine with little memory: writing to it is the only way to get some. 10
# minutes with --long.
# Rows: C-63 C-66
# Cases: C03
# Boot: --mem 256 --disk 768M
# Time: 900

. "$(dirname "$0")/../lib/crypt.sh"

swapped() { awk '/^pswpout/ { print $2 }' /proc/vmstat; }

pressure() { # [option...]
    local before pages seconds=3 key=$KEY64
    [ -z "$LONG" ] || seconds=290
    sysctl -qw kernel.hung_task_timeout_secs=60
    size=$(blockdev --getsz /dev/vda) device=/dev/vda copen s aes-xts-plain64 "$@"
    mkswap "$(dev s)" >/dev/null
    swapon "$(dev s)"
    before=$(swapped)
    # More data than there is memory, in a file system that is all memory.
    mkdir -p "$DIR/tmp"
    mount -t tmpfs -o size=240M tmpfs "$DIR/tmp"
    head -c 200M /dev/urandom | tee "$DIR/tmp/data" | sha256sum >"$DIR/written"
    stress-ng --vm 2 --vm-bytes 64M --vm-method zero-one --verify --timeout "$seconds" \
        --temp-path "$DIR" --quiet
    sha256sum <"$DIR/tmp/data" >"$DIR/read"
    umount "$DIR/tmp"
    swapoff "$(dev s)"
    pages=$(($(swapped) - before))
    say "$pages pages written to swap"
    [ $pages -gt 5000 ] || fail "no pressure: $pages pages"
    cmp "$DIR/written" "$DIR/read"
    dm_remove s
}
test_swap() {
    pressure
    # With --long, half of the time for each way.
    [ -z "$LONG" ] || pressure no_read_workqueue no_write_workqueue
}

ksft_main "$@"
