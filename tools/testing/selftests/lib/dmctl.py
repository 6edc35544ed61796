# SPDX-License-Identifier: GPL-2.0
"""Mapped devices by ioctl: a process start is dear under TCG, and a crash test makes hundreds."""

import fcntl
import os
import struct
import time

CREATE, REMOVE, SUSPEND, LOAD, STATUS, MESSAGE = 3, 4, 6, 9, 12, 14
SUSPENDED, NOFLUSH = 1 << 1, 1 << 11
HEAD = struct.Struct("<3I7IQ128s129s7s")
ROOM = 16384


class Mapped:
    """A device with one target; the name is that of the file in /dev/mapper."""

    def __init__(self, name, length, target, parameters):
        self.name = name
        self.control = os.open("/dev/mapper/control", os.O_RDWR)
        number = self._call(CREATE)[10]
        self.path = f"/dev/dm-{(number & 0xFF) | (number >> 12) & 0xFFF00}"
        text = parameters.encode() + b"\0"
        text += b"\0" * (-len(text) % 8)
        spec = struct.pack("<QQiI16s", 0, length, 0, 40 + len(text), target.encode())
        try:
            self._call(LOAD, payload=spec + text, targets=1)
            self._call(SUSPEND)
        except OSError:
            self.remove()
            raise

    def _call(self, command, payload=b"", targets=0, flags=0):
        """The head of the answer and its data."""
        size = HEAD.size + max(len(payload), ROOM)
        head = HEAD.pack(4, 0, 0, size, HEAD.size, targets, 0, flags, 0, 0, 0,
                         self.name.encode(), b"", b"")
        buf = bytearray(head + payload)
        buf += bytes(size - len(buf))
        fcntl.ioctl(self.control, 3 << 30 | HEAD.size << 16 | 0xFD << 8 | command, buf, True)
        return (*HEAD.unpack_from(buf), bytes(buf[HEAD.size:]))

    def suspend(self):
        """Waits for what is under way, and holds back what comes."""
        self._call(SUSPEND, flags=SUSPENDED | NOFLUSH)

    def resume(self):
        self._call(SUSPEND)

    def message(self, text):
        self._call(MESSAGE, struct.pack("<Q", 0) + text.encode() + b"\0")

    def status(self):
        """The words that the target prints."""
        data = self._call(STATUS, flags=NOFLUSH)[-1]
        return data[40:data.index(b"\0", 40)].decode().split()

    def remove(self):
        # Somebody who looks at every new device may have it open for a moment.
        for left in range(50, -1, -1):
            try:
                self._call(REMOVE)
                break
            except OSError:
                if not left:
                    raise
                time.sleep(0.1)
        os.close(self.control)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
