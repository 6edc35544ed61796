#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tries tables that must be refused: one process for many, since a process start is dear under TCG.

Reads lines "ro|rw TAB MODULE TAB TABLE"; answers each with the errno's name (0 if it was accepted),
what stayed behind, and the lines of the kernel log, all separated by TABs.
"""

import errno
import fcntl
import os
import struct
import sys

CREATE, REMOVE, LOAD = 3, 4, 9
READONLY = 1
NAME = b"ksft-bad"


def ioctl(control, cmd, flags=0, targets=0, payload=b""):
    size = 312 + len(payload)
    head = struct.pack("<3I7IQ128s129s7s", 4, 0, 0, size, 312, targets, 0, flags, 0, 0, 0, NAME,
                       b"", b"")
    buf = bytearray(head + payload)
    try:
        fcntl.ioctl(control, 3 << 30 | 312 << 16 | 0xFD << 8 | cmd, buf, True)
        return 0
    except OSError as e:
        return e.errno


def target(table):
    start, length, kind, *params = table.split(" ", 3)
    text = (params[0] if params else "").encode() + b"\0"
    text += b"\0" * (-len(text) % 8)
    return struct.pack("<QQiI16s", int(start), int(length), 0, 40 + len(text), kind.encode()) + text


def messages(log):
    lines = []
    while True:
        try:
            record = os.read(log, 8192).decode(errors="replace")
        except BlockingIOError:
            return lines
        except BrokenPipeError:
            continue
        lines.append(record.split(";", 1)[1].split("\n", 1)[0])


def busy(table):
    """Devices of the table that somebody still holds."""
    found = []
    for word in table.split():
        if word.startswith("/dev/loop"):
            try:
                os.close(os.open(word, os.O_RDONLY | os.O_EXCL))
            except OSError as e:
                if e.errno == errno.EBUSY and not mounted(word):
                    found.append(word)
    return found


def mounted(device):
    with open("/proc/mounts") as f:
        return any(line.startswith(device + " ") for line in f)


def attempt(control, log, mode, module, table):
    messages(log)
    left = []
    if error := ioctl(control, CREATE):
        return errno.errorcode[error], ["no device could be made"], []
    error = ioctl(control, LOAD, READONLY if mode == "ro" else 0, 1, target(table))
    if ioctl(control, REMOVE):
        left.append("the device")
    left += busy(table)
    with open(f"/sys/module/{module}/refcnt") as f:
        if f.read().strip() != "0":
            left.append("a module reference")
    return errno.errorcode.get(error, "0"), left, messages(log)


def main():
    control = os.open("/dev/mapper/control", os.O_RDWR)
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(log, 0, os.SEEK_END)
    for line in sys.stdin:
        mode, module, table = line.rstrip("\n").split("\t")
        name, left, lines = attempt(control, log, mode, module, table)
        print(name, ", ".join(left), *lines, sep="\t", flush=True)


main()
