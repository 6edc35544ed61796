#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Blocks of an NVMe disk with their metadata, past the block layer.

  nvme.py sum DEVICE BLOCK BYTES METADATA COUNT     a hash of data and metadata of COUNT blocks,
                                                    a multiple of AT_ONCE
  nvme.py metadata DEVICE BLOCK BYTES METADATA      the metadata of a block, in hexadecimal
  nvme.py flip DEVICE BLOCK BYTES METADATA OFFSET   turns a byte of data, or, from BYTES on, of
                                                    metadata, over
"""

import ctypes
import fcntl
import hashlib
import struct
import sys

# _IOW('N', 0x42, struct nvme_user_io)
SUBMIT_IO = 0x40304E42
WRITE, READ = 1, 2
AT_ONCE = 50


def transfer(opcode, device, block, data, metadata, count=1):
    command = struct.pack("<BBHHHQQQIIHH", opcode, 0, 0, count - 1, 0,
                          ctypes.addressof(metadata), ctypes.addressof(data), block, 0, 0, 0, 0)
    status = fcntl.ioctl(device, SUBMIT_IO, bytearray(command))
    if status:
        sys.exit(f"nvme: status {status:#x}")


def main(action, path, block, size, metadata_size, *rest):
    block, size, metadata_size = int(block), int(size), int(metadata_size)
    count = AT_ONCE if action == "sum" else 1
    data = ctypes.create_string_buffer(size * count)
    metadata = ctypes.create_string_buffer(metadata_size * count)
    with open(path, "rb+", buffering=0) as device:
        if action == "sum":
            digest = hashlib.sha256()
            for n in range(block, block + int(rest[0]), count):
                transfer(READ, device, n, data, metadata, count)
                digest.update(data.raw + metadata.raw)
            print(digest.hexdigest())
            return
        transfer(READ, device, block, data, metadata)
        if action == "metadata":
            print(metadata.raw.hex())
            return
        at = int(rest[0])
        target, at = (data, at) if at < size else (metadata, at - size)
        target[at] = bytes([target.raw[at] ^ 0x40])
        transfer(WRITE, device, block, data, metadata)


main(*sys.argv[1:])
