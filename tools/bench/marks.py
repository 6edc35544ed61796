# SPDX-License-Identifier: GPL-2.0
"""What tells the profiling plugin where the measured part starts and ends."""

import ctypes
import mmap

import devices


def mark():
    """Executes the instruction that the plugin looks for: nopl 0x72646d42(%rax)."""
    code = b"\x0f\x1f\x80\x42\x6d\x64\x72" + b"\xc3"
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ctypes.CFUNCTYPE(None)(address)()


def symbols():
    """Prints the functions of the kernel and its modules."""
    with open("/proc/kallsyms") as f:
        for line in f:
            if line[17] in "tTwW":
                print("symbol:", line, end="")


def profile(shape, device):
    """Does N requests and then three times N, between marks: in the difference is no start of
    fio."""
    ios = shape.ios // 4
    devices.fio(shape, device, ios)
    for n in (ios, 3 * ios):
        mark()
        devices.fio(shape, device, n)
    mark()
    print("requests:", 2 * ios * shape.jobs)
    symbols()
