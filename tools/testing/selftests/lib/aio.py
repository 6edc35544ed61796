# SPDX-License-Identifier: GPL-2.0
"""Reads blocks of 4096 bytes all at once, so that the block layer can merge them.

    aio.py DEVICE FIRST COUNT

Prints the number of each block that could not be read.
"""

import ctypes
import mmap
import os
import sys

BLOCK = 4096
IO_SETUP, IO_GETEVENTS, IO_SUBMIT = 206, 208, 209


class Iocb(ctypes.Structure):
    """As in include/uapi/linux/aio_abi.h; the operation is IOCB_CMD_PREAD."""

    _fields_ = [
        ("data", ctypes.c_uint64),
        ("key", ctypes.c_uint32),
        ("rw_flags", ctypes.c_int32),
        ("opcode", ctypes.c_uint16),
        ("priority", ctypes.c_int16),
        ("fd", ctypes.c_uint32),
        ("buffer", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("reserved", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("event_fd", ctypes.c_uint32),
    ]


class Event(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_uint64),
        ("iocb", ctypes.c_uint64),
        ("result", ctypes.c_int64),
        ("more", ctypes.c_int64),
    ]


def call(number, *arguments):
    result = LIBC.syscall(number, *arguments)
    if result < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    return result


LIBC = ctypes.CDLL(None, use_errno=True)
device, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
memory = mmap.mmap(-1, count * BLOCK)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
blocks = [
    Iocb(i, fd=fd, buffer=address + i * BLOCK, bytes=BLOCK, offset=(first + i) * BLOCK)
    for i in range(count)
]
context = ctypes.c_ulong(0)
call(IO_SETUP, count, ctypes.byref(context))
pointers = (ctypes.c_void_p * count)(*map(ctypes.addressof, blocks))
if call(IO_SUBMIT, context, ctypes.c_long(count), pointers) != count:
    sys.exit("not all blocks were submitted")
events = (Event * count)()
call(IO_GETEVENTS, context, ctypes.c_long(count), ctypes.c_long(count), events, None)
print(*sorted(first + e.data for e in events if e.result != BLOCK))
