# SPDX-License-Identifier: GPL-2.0
"""Logs of dm-log-writes and of QEMU's blklogwrites: what reached a disk, and in which order.

The format is that of drivers/md/dm-log-writes.c: a superblock of one sector, then entries of one
sector, each followed by the data of the write. An entry is written when its write is durable:
after the flush that covers it, or when it completes if it is FUA; blklogwrites writes them when
they are sent.
"""

import random
import struct

SECTOR = 512
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
MAGIC = 0x6A736677736872


class Entry:
    def __init__(self, start, sectors, flags, data):
        self.start, self.sectors, self.flags, self.data = start, sectors, flags, data

    def apply(self, image):
        self.apply_some(image, range(self.sectors))

    def apply_some(self, image, which):
        """Only some of its sectors, by their number in the write."""
        if self.flags & MARK:
            return
        for i in which:
            at, to = i * SECTOR, (self.start + i) * SECTOR
            image[to:to + SECTOR] = self.data[at:at + SECTOR] if self.data else bytes(SECTOR)

    @property
    def orders(self):
        return self.flags & (FLUSH | FUA)


def read(path):
    """The entries of a log. Fails if it is no log."""
    with open(path, "rb") as f:
        magic, version, count, size = struct.unpack("<QQQI", f.read(28))
        if (magic, version, size) != (MAGIC, 1, SECTOR):
            raise RuntimeError(f"{path}: no log of sectors of {SECTOR} bytes")
        at, entries = SECTOR, []
        for _ in range(count):
            f.seek(at)
            start, sectors, flags, length = struct.unpack("<4Q", f.read(32))
            at += SECTOR
            data = f.read(length) if flags & MARK else None
            if not flags & (DISCARD | MARK):
                f.seek(at)
                data = f.read(sectors * SECTOR)
                at += sectors * SECTOR
            entries.append(Entry(start, sectors, flags, data))
    return entries


class Point:
    """A crash: all of the log before `whole`, and from there to `end` what a seed says."""

    def __init__(self, kind, whole, end, seed=0):
        self.kind, self.whole, self.end, self.seed = kind, whole, end, seed

    def __str__(self):
        return f"{self.kind} at {self.end}" + (f" seed {self.seed}" if self.seed else "")


def points(entries, first=0):
    """Every flush and FUA, and before each flush the writes that it is about to cover.

    Those may be on the disk or not, sector by sector.
    """
    found, whole = [], 0
    for i, entry in enumerate(entries):
        if not entry.orders:
            continue
        if i >= first:
            if i > whole and any(not e.flags & MARK for e in entries[whole:i]):
                found.append(Point("subset", whole, i, seed=i))
            found.append(Point("flush" if entry.flags & FLUSH else "fua", i + 1, i + 1))
        whole = i + 1
    return found


def lottery(entries, seed):
    """A part of what was written without having been flushed, as pairs with sector numbers."""
    rng = random.Random(seed)
    share = rng.choice((0.1, 0.5, 0.9))
    for entry in entries:
        if rng.random() < 0.5:
            # All or nothing: most disks write a request in one go.
            yield entry, range(entry.sectors) if rng.random() < share else ()
        else:
            yield entry, [i for i in range(entry.sectors) if rng.random() < share]


class Replay:
    """An image that is moved along the log."""

    def __init__(self, base, entries):
        self.image, self.entries, self.at, self.marks = bytearray(base), entries, 0, []

    def to(self, point):
        """The image at a point not before the last one, and the marks up to there."""
        while self.at < point.whole:
            self.entries[self.at].apply(self.image)
            self.at += 1
        image = self.image
        if point.end > point.whole:
            image = bytearray(image)
            for entry, which in lottery(self.entries[point.whole:point.end], point.seed):
                entry.apply_some(image, which)
        marks = [e.data.decode() for e in self.entries[:point.end] if e.flags & MARK]
        return image, marks
