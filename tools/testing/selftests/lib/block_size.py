# SPDX-License-Identifier: GPL-2.0
"""Changes the block sizes of devices as fast as it goes.

   block_size.py SECONDS DEVICE...

Prints how often they were changed, and how often the kernel refused because the device is claimed
by another one.
"""

import errno
import fcntl
import os
import struct
import sys
import time

BLKBSZSET = 0x40081271
SIZES = [struct.pack("@N", size) for size in (512, 4096, 1024, 2048)]


def main():
    end = time.monotonic() + float(sys.argv[1])
    devices = [os.open(path, os.O_RDWR) for path in sys.argv[2:]]
    done = refused = 0
    while time.monotonic() < end:
        for size in SIZES:
            for device in devices:
                try:
                    fcntl.ioctl(device, BLKBSZSET, size)
                    done += 1
                except OSError as error:
                    if error.errno != errno.EBUSY:
                        raise
                    refused += 1
    print(done, refused)


main()
