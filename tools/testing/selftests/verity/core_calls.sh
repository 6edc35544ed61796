#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What user space may ask of the device besides reading: messages, ioctls, writes,
# discards; and where blocks may begin.
# Rows: V-45 V-46 V-47 V-64 V-65 X-13 X-14 X-16

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }
write_direct() { # name
    dd if=/dev/zero of="$(dev "$1")" bs=4096 count=1 conv=notrunc oflag=direct status=none
}

test_message() {
    attach
    vopen v
    log_mark
    fails "Invalid argument" dmsetup message ksft-v 0 hello
    log_has "^device-mapper: ioctl: Target type does not support messages$"
}
test_ioctl_is_passed_down() {
    attach
    vopen v
    # A loop device knows this ioctl; the mapped device alone does not.
    python3 - "$(dev v)" <<-'PY'
	import fcntl, os, sys
	fd = os.open(sys.argv[1], os.O_RDONLY)
	fcntl.ioctl(fd, 0x4C05, bytearray(232))
	PY
}
test_ioctl_needs_rawio_on_a_part() {
    attach
    length=8 vopen v
    python3 - "$(dev v)" <<-'PY'
	import ctypes, errno, fcntl, os, sys
	fd = os.open(sys.argv[1], os.O_RDONLY)
	fcntl.ioctl(fd, 0x4C05, bytearray(232))
	# Without CAP_SYS_RAWIO: drop everything but what keeps the descriptor.
	libc = ctypes.CDLL(None, use_errno=True)
	head = (ctypes.c_uint32 * 2)(0x20080522, 0)
	if libc.capset(head, (ctypes.c_uint32 * 6)()):
	    sys.exit("capset: " + os.strerror(ctypes.get_errno()))
	try:
	    fcntl.ioctl(fd, 0x4C05, bytearray(232))
	    sys.exit("passed down without CAP_SYS_RAWIO")
	except OSError as e:
	    if e.errno != errno.ENOTTY:
	        raise
	PY
}
test_write_open() {
    attach
    vopen v
    fails "Operation not permitted" write_direct v
    equal "$(blockdev --getro "$(dev v)")" 1
}
# Another mapping on top sends writes which no open refuses.
test_write_is_killed() {
    attach
    vopen v
    dm_create top "0 4096 linear $(dev v) 0"
    fails "Input/output error" write_direct top
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}
test_smaller_than_a_block() {
    attach
    vopen v
    fails "Invalid argument" read_direct "$(dev v)" 0 512
    fails "Invalid argument" read_direct "$(dev v)" 1 2048
    equal "$(dm_status v)" "0 4096 $T V -"
}
# A mapping made while the device below had smaller blocks keeps sending those. (What ends beyond
# the data, "io out of range", cannot come: tables that are longer than the data are refused.)
test_unaligned() {
    local at
    attach
    dm_create v "0 4096 linear $L0 0" --readonly
    dm_create top "0 4096 linear $(dev v) 0" --readonly
    dm_swap v "$(vtable)" --readonly
    for at in 1 7 8; do
        log_mark
        fails "Input/output error" read_direct "$(dev top)" $at 512
        logged "device-mapper: verity: unaligned io"
    done
    read_direct "$(dev top)" 1 4096
    equal "$(dm_status v)" "0 4096 $T V -"
}
test_discard() {
    attach
    vopen v
    fails "not supported" blkdiscard -f "$(dev v)"
    equal "$(queue v discard_max_bytes)" 0
    equal "$(queue v write_zeroes_max_bytes)" 0
    equal "$(queue v dax)" 0
}
test_flush() {
    attach
    vopen v
    sync "$(dev v)"
    blockdev --flushbufs "$(dev v)"
}

ksft_main "$@"
