#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A program that writes into the memory of its own direct read must not be told that
# the disk is corrupt.
# Rows: V-50
# Boot: --smp 2

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_race() {
    attach
    vopen v
    log_mark
    timeout 60 python3 - "$(dev v)" "${LONG:+60}" <<-'PY'
	import mmap, os, sys, threading, time
	buffer = mmap.mmap(-1, 1 << 20)
	fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
	end = time.monotonic() + int(sys.argv[2] or 8)
	stop = False
	def scribble():
	    while not stop:
	        for at in range(100, 1 << 20, 4096):
	            buffer[at] = (buffer[at] + 1) & 255
	t = threading.Thread(target=scribble)
	t.start()
	try:
	    while time.monotonic() < end:
	        for at in 0, 1 << 20:
	            os.preadv(fd, [buffer], at)
	finally:
	    stop = True
	    t.join()
	PY
    equal "$(log_count "is corrupted")" 0
    equal "$(dm_status v)" "0 4096 $T V -"
}

ksft_main "$@"
