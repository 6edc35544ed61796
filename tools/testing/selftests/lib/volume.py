# SPDX-License-Identifier: GPL-2.0
"""Integrity volumes of any target: made, opened, and read with what a read says."""

import errno
import mmap
import os
import struct
import time

from dmctl import Mapped

SECTOR = 512


class Volume:
    """How a volume is opened. `device` may be one that log-writes stands in front of."""

    def __init__(self, target, device, mode, options, name="ksft-volume", tag="-"):
        self.target, self.device, self.mode, self.name = target, device, mode, name
        self.options, self.tag = options.split(), tag
        self.block = SECTOR
        for option in self.options:
            if option.startswith("block_size:"):
                self.block = int(option.split(":")[1])
        self.sectors = 0
        self.meta = None

    def on(self, target, device, meta=None):
        """The same volume, opened by another target or from another device."""
        other = Volume(target, device, self.mode, " ".join(self.options), self.name, self.tag)
        other.sectors, other.meta = self.sectors, meta
        return other

    def open(self, length=None):
        options = [*self.options, *([f"meta_device:{self.meta}"] if self.meta else [])]
        words = [self.device, "0", self.tag, self.mode, str(len(options)), *options]
        return Mapped(self.name, length or self.sectors, self.target, " ".join(words))

    def measure(self):
        """Takes the size from the superblock."""
        with Direct(self.meta or self.device) as f:
            block = f.read(0, 4096)
        if block[:8] != b"integrt\0":
            raise RuntimeError(f"no superblock on {self.meta or self.device}")
        (self.sectors,) = struct.unpack_from("<Q", block, 16)
        self.sectors -= self.sectors % (self.block // SECTOR)

    def make(self):
        """Formats, as the tools do it with a short table, and makes every tag valid."""
        self.open(8).remove()
        self.measure()
        with self.open() as mapped, Direct(mapped.path, os.O_RDWR) as f:
            zeroes = mmap.mmap(-1, 1 << 20)
            for start in range(0, self.sectors * SECTOR, len(zeroes)):
                count = min(len(zeroes), self.sectors * SECTOR - start)
                os.pwritev(f.fd, [memoryview(zeroes)[:count]], start)
            os.fsync(f.fd)


class Direct:
    """A device without the page cache, whose errors are the target's own."""

    def __init__(self, path, flags=os.O_RDONLY):
        self.fd = os.open(path, flags | os.O_DIRECT)
        self.buffer = mmap.mmap(-1, 1 << 20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def read(self, start, count):
        """Bytes, or None for a checksum error."""
        try:
            got = os.preadv(self.fd, [memoryview(self.buffer)[:count]], start)
        except OSError as e:
            if e.errno == errno.EILSEQ:
                return None
            raise
        if got != count:
            raise RuntimeError(f"{got} of {count} bytes at {start}")
        return self.buffer[:count]


def settle(mapped, seconds=60):
    """Waits until nothing is left to recalculate."""
    end = time.monotonic() + seconds
    while True:
        _, size, position = mapped.status()[:3]
        if position in ("-", size):
            return
        if time.monotonic() > end:
            raise RuntimeError(f"recalculation is at {position} of {size} after {seconds} s")
        time.sleep(0.02)
