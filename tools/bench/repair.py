# SPDX-License-Identifier: GPL-2.0
"""Reads of verity devices that need error correction, and of one where it cannot help."""

import mmap
import os
import re
import sys
import time

import devices
from devices import sh
from verity_device import BLOCK, SALT, target

BLOCKS = 2048
SIZE = BLOCKS * BLOCK
READS = 20
WARM = 2


def crafted(path, first_block):
    """Garbage from a block to the end of a file."""
    rest = os.path.getsize(path) - first_block * BLOCK
    devices.fill(path, rest, offset=first_block * BLOCK)


class Image:
    """A data device with a bad block in the middle, its tree, and its parity."""

    def __init__(self, roots, garbage):
        self.roots = roots
        self.data, self.tree, self.parity = devices.ramdisks(SIZE, SIZE, SIZE)
        files = {d: f"/tmp/bench-{os.path.basename(d)}" for d in (self.tree, self.parity)}
        devices.fill(self.data, SIZE)
        for path in files.values():
            if os.path.exists(path):
                os.unlink(path)
        out = sh(
            "veritysetup",
            "format",
            f"--salt={SALT.hex()}",
            f"--fec-device={files[self.parity]}",
            f"--fec-roots={roots}",
            self.data,
            files[self.tree],
        )
        self.root = re.search(r"Root hash:\s*(\w+)", out).group(1)
        tree_blocks = os.path.getsize(files[self.tree]) // BLOCK - 1
        self.protected = BLOCKS + tree_blocks
        if garbage:
            # All but the superblock and the root.
            crafted(files[self.tree], 2)
            crafted(files[self.parity], 0)
        for device, path in files.items():
            sh("dd", f"if={path}", f"of={device}", "bs=1M", "oflag=direct", "status=none")
        self.bad = BLOCKS // 2
        with open(self.data, "r+b", buffering=0) as f:
            os.pwrite(f.fileno(), bytes(BLOCK), self.bad * BLOCK)
            os.fsync(f.fileno())

    def options(self):
        return [
            "use_fec_from_device",
            self.parity,
            "fec_blocks",
            self.protected,
            "fec_start",
            0,
            "fec_roots",
            self.roots,
        ]


def read_bad(device, at, buffer, possible):
    """Reads a bad block, and checks that it fails just where it cannot be repaired."""
    try:
        os.preadv(device, [buffer], at)
    except OSError:
        if possible:
            sys.exit("bench: a block was not repaired")
        return
    if not possible:
        sys.exit("bench: a block was repaired that cannot be")


def measure(w, report):
    """Mean time in µs for a read of the bad block."""
    roots, garbage = w.repair
    image = Image(roots, garbage)
    buffer = mmap.mmap(-1, BLOCK)
    with target(
        image.data, image.tree, SIZE, image.root, w.softirq, 1, image.options()
    ) as path:
        device = os.open(path, os.O_RDONLY | os.O_DIRECT)
        at = image.bad * BLOCK
        for _ in range(WARM):
            read_bad(device, at, buffer, not garbage)
        start = time.perf_counter_ns()
        for _ in range(READS):
            read_bad(device, at, buffer, not garbage)
        us = (time.perf_counter_ns() - start) / 1000 / READS
        os.close(device)
    report(w.name, "icount", us, "us")
