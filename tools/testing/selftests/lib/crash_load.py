# SPDX-License-Identifier: GPL-2.0
"""A load whose every write follows from a seed, and what must be on the disk after a crash.

Each of some threads does one operation after the other on blocks of its own: a few writes that
are then made durable by fsync, writes that are durable by themselves (RWF_DSYNC, which becomes
FUA), or writes that nobody waits for. When operation n is done, the thread says so. Who knows
the seed and the last n that each thread has said knows what must have survived.
"""

import functools
import hashlib
import mmap
import os
import random
import struct
import threading

from volume import SECTOR, Direct

GROUP, GROUPS, ALIGNMENT = 8, 6, 128
KINDS, WEIGHTS = ("fsync", "dsync", "plain"), (5, 3, 2)


class Plan:
    """The operations on a volume of so many blocks of `block` bytes."""

    def __init__(self, seed, threads, sectors, block):
        self.seed, self.threads, self.block = seed, threads, block
        # Groups of neighbours, spread evenly over the volume. Where there is room, each begins
        # with the first block that has its tag in some sector.
        self.stride = sectors * SECTOR // block // (threads * GROUPS)
        self.stride -= self.stride % (ALIGNMENT if self.stride >= ALIGNMENT else GROUP)
        if self.stride < GROUP:
            raise RuntimeError("the volume is too small")

    def first(self, thread, group):
        """The first block of a group."""
        return (group * self.threads + thread) * self.stride

    @functools.lru_cache(maxsize=None)
    def operation(self, thread, n):
        """The kind, and the writes as (first block, blocks), no block twice."""
        rng = random.Random(f"{self.seed} {thread} {n}")
        kind = rng.choices(KINDS, WEIGHTS)[0]
        writes = []
        for group in rng.sample(range(GROUPS), rng.randint(1, 3)):
            start = rng.randrange(GROUP)
            writes.append((self.first(thread, group) + start, rng.randint(1, GROUP - start)))
        return kind, writes

    @functools.lru_cache(maxsize=4096)
    def content(self, block, version):
        """What a write of this version, which is the number of its operation + 1, stores."""
        if version == 0:
            return bytes(self.block)
        out = bytearray()
        first = block * (self.block // SECTOR)
        for sector in range(first, first + self.block // SECTOR):
            head = struct.pack("<QII", sector, version, self.seed)
            out += (head + hashlib.blake2b(head).digest() * 8)[:SECTOR]
        return bytes(out)

    def expected(self, thread, done):
        """For each block what may be there: the version that is safe, then later ones."""
        allowed = {self.first(thread, g) + i: [0] for g in range(GROUPS) for i in range(GROUP)}
        # The operation after the last one that was reported may have been under way.
        for n in range(done + 2):
            kind, writes = self.operation(thread, n)
            for start, count in writes:
                for block in range(start, start + count):
                    safe = kind == "dsync" and n <= done
                    allowed[block] = [n + 1] if safe else [*allowed[block], n + 1]
            if kind == "fsync" and n <= done:
                allowed = {block: versions[-1:] for block, versions in allowed.items()}
        return allowed


def work(plan, device, thread, operations, say):
    """One thread of the load; `say(thread, n)` when operation n is done."""
    buffer = mmap.mmap(-1, GROUP * plan.block)
    with Direct(device, os.O_RDWR) as f:
        for n in operations:
            kind, writes = plan.operation(thread, n)
            for start, count in writes:
                data = b"".join(plan.content(b, n + 1) for b in range(start, start + count))
                buffer[:len(data)] = data
                os.pwritev(f.fd, [memoryview(buffer)[:len(data)]], start * plan.block,
                           os.RWF_DSYNC if kind == "dsync" else 0)
            if kind == "fsync":
                os.fsync(f.fd)
            say(thread, n)


def run(plan, device, operations, say):
    """The whole load. The first error of a thread ends the program."""
    errors = []

    def guarded(thread):
        try:
            work(plan, device, thread, range(operations), say)
        except OSError as e:
            errors.append(f"thread {thread}: {e}")

    threads = [threading.Thread(target=guarded, args=(t,)) for t in range(plan.threads)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise RuntimeError("; ".join(errors))


def differences(plan, done, mapped, sectors, mode):
    """Whatever is wrong with a volume after a crash, as text."""
    allowed = {}
    for thread in range(plan.threads):
        allowed.update(plan.expected(thread, done.get(thread, -1)))
    chunk = (1 << 17) // plan.block
    total = sectors * SECTOR // plan.block
    with Direct(mapped.path) as f:
        for start in range(0, total, chunk):
            blocks = range(start, min(start + chunk, total))
            yield from chunk_differences(plan, f, blocks, allowed, mode)


def chunk_differences(plan, f, blocks, allowed, mode):
    size = plan.block
    data = f.read(blocks.start * size, len(blocks) * size)
    written = [b for b in blocks if data is None or b in allowed]
    rest = bytearray(data or b"")
    for block in written:
        at = (block - blocks.start) * size
        part = f.read(block * size, size) if data is None else data[at:at + size]
        if data is not None:
            rest[at:at + size] = bytes(size)
        if what := judge(plan, block, part, allowed.get(block, [0]), mode):
            yield f"block {block}: {what}"
    if rest.count(0) != len(rest):
        yield f"blocks {blocks.start} to {blocks.stop - 1}: something that nobody has written"


def judge(plan, block, data, versions, mode):
    """What is wrong with one block, or None.

    J: the whole block is of one version. B: a block may be a mixture of sectors. D: so it may,
    and while it is being written its tag may be of another version.
    """
    if data is None:
        return "checksum error" if mode != "D" or len(versions) == 1 else None
    contents = [plan.content(block, v) for v in versions]
    if data in contents:
        return None
    mixed = all(any(data[at:at + SECTOR] == c[at:at + SECTOR] for c in contents)
                for at in range(0, plan.block, SECTOR))
    if mixed:
        return "is torn" if mode == "J" else None
    sector, version, seed = struct.unpack_from("<QII", data)
    return (f"lost: sector {sector} version {version} seed {seed} is there, "
            f"one of {versions} should be")
