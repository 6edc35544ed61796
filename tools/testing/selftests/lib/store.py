#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Drives the target bufio-store: makes programs, runs them, and knows what must come of it.

  store.py run DEVICE STEP...
      Runs a program. A step is OPERATION[:BLOCK[:OFFSET[:COUNT]]][@SLOT][!ERRNO]; the operations
      are those of drivers/md/test_bufio/program.rs. What is written or compared is a pattern of
      the place, or its complement with "w~" and "c~".
  store.py random DEVICE LOWER BLOCK_SIZE BLOCKS SEED STEPS
      Runs random programs. After each, LOWER (a file) has nothing that was not there or was not
      written since all was known to be written out; and then it has exactly what was written.
  store.py parallel DEVICE LOWER BLOCK_SIZE BLOCKS SEED STEPS PROCESSES
      Runs random programs at the same time, each of which writes its own stripes of all blocks.
"""

import mmap
import os
import random
import re
import struct
import sys

NO_SLOT = 255
ANY = 65535
STRIPE = 64


def step(operation, block=0, offset=0, count=0, slot=NO_SLOT, errno=0, data=b""):
    """A step of a program."""
    count = len(data) or count
    header = struct.pack("<cBHIQII", operation.encode(), slot, errno, offset, block, count, 0)
    return header + data + bytes(-len(data) % 8)


def run(device, steps):
    """Runs a program; fails if a step does not do as expected."""
    program = b"".join(steps)
    size = -(-len(program) // 512) * 512
    with mmap.mmap(-1, size) as buffer:
        buffer[: len(program)] = program
        fd = os.open(device, os.O_RDWR | os.O_DIRECT)
        try:
            assert os.pwrite(fd, buffer, 0) == size
        finally:
            os.close(fd)


def pattern(block, offset, count, other):
    """The bytes of a place."""
    flip = 255 if other else 0
    return bytes((block * 31 + (offset + i) * 7 & 255) ^ flip for i in range(count))


def parse(text):
    """A step from its description."""
    found = re.fullmatch(r"(\w)(~?)((?::\d+)*)(?:@(\d+))?(?:!(\d+))?", text)
    if not found:
        sys.exit(f"bad step: {text}")
    operation, other, numbers, slot, errno = found.groups()
    numbers = [int(number) for number in numbers.split(":")[1:]]
    block, offset, count = (numbers + [0, 0, 0])[:3]
    if operation in "pgDR" and len(numbers) == 2:
        count, offset = offset, 0
    data = pattern(block, offset, count, other) if operation in "wc" else b""
    return step(operation, block, offset, count, int(slot or NO_SLOT), int(errno or 0), data)


class Model:
    """What is in the cache, and what may be on the device."""

    # How often steps are chosen.
    STEPS = {"w": 40, "c": 15, "S": 1, "s": 1, "g": 2, "p": 2, "F": 1, "R": 0.3}
    STEPS |= {"h": 3, "r": 3, "x": 4}

    def __init__(self, device, lower, block_size, blocks, seed):
        self.device, self.lower = device, lower
        self.block_size, self.blocks = block_size, blocks
        self.random = random.Random(seed)
        self.seen = bytearray(self.read_lower())
        # What the device had when all was written out, and what was written since.
        self.base = bytes(self.seen)
        self.since = []

    def read_lower(self):
        with open(self.lower, "rb") as file:
            return file.read(self.block_size * self.blocks)

    def range(self):
        """A block, and a range of it: anything, tags, sectors, or all of it."""
        size, rand = self.block_size, self.random
        unit, most = rand.choice([(1, 600), (32, 8), (32, 1), (512, 12), (4096, 4), (size, 1)])
        unit = min(unit, size)
        offset = rand.randrange(size // unit) * unit
        count = min(rand.randint(1, most) * unit, size - offset)
        return rand.randrange(self.blocks), offset, count

    def write(self, block, offset, data):
        start = block * self.block_size + offset
        self.seen[start : start + len(data)] = data
        self.since.append((start, data))

    def was_written(self, at, byte):
        """Whether somebody wrote the byte to the place since all was written out."""
        return any(
            start <= at < start + len(data) and data[at - start] == byte
            for start, data in self.since
        )

    def check_lower(self):
        """Nothing is on the device that nobody wrote."""
        now = self.read_lower()
        for start in range(0, len(now), 512):
            end = start + 512
            if now[start:end] in (self.base[start:end], self.seen[start:end]):
                continue
            for at in range(start, end):
                if now[at] != self.base[at] and not self.was_written(at, now[at]):
                    sys.exit(f"byte {at} of the device is {now[at]}, was {self.base[at]}")

    def checkpoint(self):
        """All is on the device."""
        now = self.read_lower()
        if now != bytes(self.seen):
            at = next(i for i, (a, b) in enumerate(zip(now, self.seen)) if a != b)
            sys.exit(f"byte {at} of the device is {now[at]}, not {self.seen[at]}")
        self.base, self.since = now, []

    def random_step(self, held):
        """A step, and whether all is written out after it."""
        rand = self.random
        block, offset, count = self.range()
        slot = rand.choice([NO_SLOT] * 3 + list(held)) if held else NO_SLOT
        block = held.get(slot, block)
        kind = rand.choices(list(self.STEPS), list(self.STEPS.values()))[0]
        if kind == "w":
            data = rand.randbytes(count)
            self.write(block, offset, data)
            return step("w", block, offset, slot=slot, data=data), False
        if kind == "c":
            start = block * self.block_size + offset
            data = bytes(self.seen[start : start + min(count, 2048)])
            return step("c", block, offset, slot=slot, data=data), False
        if kind in "hrx":
            slot = rand.randrange(3)
            held.pop(slot, None)
            if kind != "x":
                held[slot] = block
            return step(kind, block, slot=slot), False
        if kind in "gp":
            return step(kind, block, count=rand.randint(1, 8)), False
        return step(kind), kind in "SR"

    def random_program(self, most):
        """Some steps, and whether all is written out at the end."""
        steps, held, size = [], {}, 0
        while size < 30000 and len(steps) < most:
            one, done = self.random_step(held)
            steps.append(one)
            size += len(one)
            if done:
                return steps, True
        return steps, False

    def run(self, steps):
        while steps > 0:
            program, done = self.random_program(min(60, steps))
            run(self.device, program)
            steps -= len(program)
            self.check_lower()
            if done:
                self.checkpoint()
        run(self.device, [step("S")])
        self.checkpoint()


class Stripes(Model):
    """One of several processes that write the same blocks.

    They hold no more than one at a time: only one thread may hold several.
    """

    STEPS = {"w": 40, "c": 15, "S": 1, "s": 1, "g": 2, "p": 2, "F": 1, "R": 0.3}

    def __init__(self, rank, ranks, *args):
        super().__init__(*args)
        self.rank, self.ranks = rank, ranks
        self.random.seed(f"{args[-1]} {rank}")

    def range(self):
        rand = self.random
        stripes = self.block_size // STRIPE
        stripe = rand.randrange(self.rank, stripes, self.ranks)
        skip = rand.randrange(STRIPE)
        count = rand.randint(1, STRIPE - skip)
        return rand.randrange(self.blocks), stripe * STRIPE + skip, count

    def run(self, steps):
        while steps > 0:
            program, _ = self.random_program(min(60, steps))
            run(self.device, program)
            steps -= len(program)

    def own(self):
        """The bytes of the stripes of this process."""
        period = STRIPE * self.ranks
        start = self.rank * STRIPE
        parts = range(start, len(self.seen), period)
        return b"".join(self.seen[at : at + STRIPE] for at in parts)


def parallel(device, lower, block_size, blocks, seed, steps, ranks):
    """Runs the processes, and compares what each has written."""
    pipes = []
    for rank in range(ranks):
        receive, send = os.pipe()
        if os.fork() == 0:
            model = Stripes(rank, ranks, device, lower, block_size, blocks, seed)
            model.run(steps)
            with os.fdopen(send, "wb") as pipe:
                pipe.write(model.own())
            os._exit(0)
        os.close(send)
        pipes.append(receive)
    wanted = []
    for receive in pipes:
        with os.fdopen(receive, "rb") as pipe:
            wanted.append(pipe.read())
    for _ in pipes:
        if os.wait()[1] != 0:
            sys.exit("one of the processes failed")
    run(device, [step("S")])
    for rank, own in enumerate(wanted):
        found = Stripes(rank, ranks, device, lower, block_size, blocks, seed).own()
        if found != own:
            at = next(i for i, (a, b) in enumerate(zip(found, own)) if a != b)
            sys.exit(f"byte {at} of process {rank} is {found[at]}, not {own[at]}")


def main():
    command, device, *args = sys.argv[1:]
    if command == "run":
        run(device, [parse(text) for text in args])
        return
    lower, *numbers = args
    block_size, blocks, seed, steps, *ranks = [int(number) for number in numbers]
    if command == "random":
        Model(device, lower, block_size, blocks, seed).run(steps)
    else:
        parallel(device, lower, block_size, blocks, seed, steps, *ranks)


main()
