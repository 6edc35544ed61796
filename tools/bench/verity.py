# SPDX-License-Identifier: GPL-2.0
"""The workloads of verity."""

import contextlib
import hashlib
import mmap
import os
import re
import sys
import time

import devices
import repair
from devices import MIB, sh
from verity_device import BLOCK, SALT, target
from workloads import SHAPES

HOT_SIZE = 64 * MIB
COLD_SIZE = 256 * MIB
COLD_RANDOM_SIZE = 4096 * MIB
MEMORY_SIZE = 2048 * MIB
HOT_LATENCY_NS = 1000
COLD_LATENCY_NS = 100_000
BLOCKS_HASHED = 1000
HASH_MODULE = "/rdm/build/bench/module/rdm_bench.ko"


def digest(block):
    return hashlib.sha256(SALT + block).digest()


def zero_tree(device, blocks):
    """Writes the hash tree of a device full of zeros, in which all blocks of a level but
    the last are equal. Returns the root digest and the number of blocks of the tree."""
    full = last = digest(bytes(BLOCK))
    levels = []
    while blocks > 1 or not levels:
        full_block = full * (BLOCK // 32)
        rest = blocks % (BLOCK // 32) or BLOCK // 32
        last_block = (full * (rest - 1) + last).ljust(BLOCK, b"\0")
        blocks = -(-blocks // (BLOCK // 32))
        levels.append(full_block * (blocks - 1) + last_block)
        full, last = digest(full_block), digest(last_block)
    with open(device, "wb") as f:
        for level in reversed(levels):
            f.write(level)
        os.fsync(f.fileno())
    return last.hex(), sum(map(len, levels)) // BLOCK


def read_through(device, size, step=BLOCK):
    """Reads one block of each step, or everything, so that the hashes are cached."""
    buffer = mmap.mmap(-1, MIB if step == BLOCK else BLOCK)
    fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
    try:
        for at in range(0, size, max(step, len(buffer))):
            if os.preadv(fd, [buffer], at) != len(buffer):
                sys.exit(f"bench: short read of {device} at {at}")
    finally:
        os.close(fd)


class Hot:
    """A device whose tree is in memory. The data is on a ramdisk, which ends a read in the
    task that submits it, or, with `irq`, on a device that ends it in an interrupt soon after."""

    def __init__(self, irq):
        self.data, self.tree = devices.ramdisks(HOT_SIZE, HOT_SIZE)
        if irq:
            self.data = devices.null_device("hot", HOT_SIZE, HOT_LATENCY_NS)
        devices.fill(self.data, HOT_SIZE)
        out = sh(
            "veritysetup",
            "format",
            f"--salt={SALT.hex()}",
            "--uuid=00000000-0000-0000-0000-000000000001",
            self.data,
            self.tree,
        )
        self.root = re.search(r"Root hash:\s*(\w+)", out).group(1)

    def refuses(self, softirq):
        """Whoever verifies nothing is fast: a changed byte must be seen."""
        with open(self.data, "r+b", buffering=0) as f:
            right = f.read(1)
            os.pwrite(f.fileno(), bytes([right[0] ^ 1]), 0)
            os.fsync(f.fileno())
            with target(self.data, self.tree, HOT_SIZE, self.root, softirq, start=1) as device:
                try:
                    read_through(device, BLOCK, MIB)
                except OSError:
                    pass
                else:
                    sys.exit("bench: a changed byte was not seen")
            os.pwrite(f.fileno(), right, 0)
            os.fsync(f.fileno())

    @contextlib.contextmanager
    def target(self, softirq):
        self.refuses(softirq)
        with target(self.data, self.tree, HOT_SIZE, self.root, softirq, start=1) as device:
            read_through(device, HOT_SIZE)
            yield device


def hot(selected, report, irq):
    setup = Hot(irq)
    alone = {}
    hashing = hash_times()
    for softirq in (True, False):
        chosen = [w for w in selected if w.softirq == softirq]
        if not chosen:
            continue
        with setup.target(softirq) as device:
            for w in chosen:
                devices.running(w.name)
                report(w.name, "icount", devices.fio(SHAPES[w.shape], device), "us")
        devices.running("the device alone")
        for w in chosen:
            shape = SHAPES[w.shape]
            if w.shape not in alone:
                alone[w.shape] = devices.fio(shape, setup.data)
            report(w.name, "icount", alone[w.shape], "us", impl="device")
            ways = {f"icount-{way}": us * shape.bs / BLOCK for way, us in hashing.items()}
            # Where a request has several blocks, both C and Rust hash two at a time.
            ways["icount"] = ways["icount-1x" if shape.bs == BLOCK else "icount-2x"]
            for method, us in ways.items():
                report(w.name, method, us, "us", impl="hash")


def hash_times():
    """The time in µs for hashing a block, alone and two at a time."""
    sh("insmod", HASH_MODULE, f"blocks={BLOCKS_HASHED}")
    parameters = {"1x": "single_ns", "2x": "pair_ns"}
    ns = {
        way: int(devices.read(f"/sys/module/rdm_bench/parameters/{name}"))
        for way, name in parameters.items()
    }
    sh("rmmod", "rdm_bench")
    return {k: v / 1000 / BLOCKS_HASHED for k, v in ns.items()}


def cold(w, report):
    """Counts what is read of each device when nothing is cached.

    Each lies below a linear device, which sees the bios as the target submits them, before
    the queue of the device merges what it can.
    """
    size = COLD_SIZE if SHAPES[w.shape].rw == "read" else COLD_RANDOM_SIZE
    data = devices.null_device("data", size, COLD_LATENCY_NS)
    tree = devices.null_device("tree", max(size // 64, 16 * MIB), COLD_LATENCY_NS)
    if "nomerges" in w.options:
        for disk in (data, tree):
            devices.never_merge(disk)
    root, _ = zero_tree(tree, size // BLOCK)
    with devices.linear("data", data) as upper_data, devices.linear(
        "tree", tree
    ) as upper_tree, target(upper_data, upper_tree, size, root, w.softirq) as device:
        counted = (data, tree, upper_data, upper_tree)
        before = {d: devices.reads(d) for d in counted}
        us = devices.fio(SHAPES[w.shape], device)
        after = {d: devices.reads(d) for d in counted}
    for name, lower, upper in (("hash", tree, upper_tree), ("data", data, upper_data)):
        bios, requests = (after[d][0] - before[d][0] for d in (upper, lower))
        report(w.name, f"count-{name}", bios, "bios")
        report(w.name, f"count-{name}", requests, "requests")
        report(w.name, f"count-{name}", after[lower][1] - before[lower][1], "sectors")
    report(w.name, "icount", us, "us")
    for name in ("data", "tree"):
        devices.remove_null_device(name)


def allocated():
    for module in ("rdm", "dm_bufio"):
        path = f"/sys/module/{module}/parameters/current_allocated_bytes"
        if os.path.exists(path):
            return int(devices.read(path))
    sys.exit("bench: no current_allocated_bytes")


def slabs():
    """Bytes of all objects in slabs, once what is freed late has been freed."""
    time.sleep(2)
    with open("/proc/slabinfo") as f:
        rows = [line.split() for line in f.readlines()[2:]]
    return sum(int(active) * int(size) for _, active, _, size, *_ in rows)


def memory(w, report):
    """Bytes for each cached block of a tree: as the cache counts, and with its slabs."""
    data = devices.null_device("data", MEMORY_SIZE)
    tree = devices.null_device("tree", MEMORY_SIZE // 64)
    root, blocks = zero_tree(tree, MEMORY_SIZE // BLOCK)
    with target(data, tree, MEMORY_SIZE, root, w.softirq) as device:
        counted, objects = allocated(), slabs()
        read_through(device, MEMORY_SIZE, BLOCK * (BLOCK // 32))
        counted, objects = allocated() - counted, slabs() - objects
        report(w.name, "bufio", counted / blocks, "bytes")
        report(w.name, "bufio+slab", (counted + objects) / blocks, "bytes")
    for name in ("data", "tree"):
        devices.remove_null_device(name)


def run(selected, report):
    for kind in ("hot", "irq"):
        chosen = [w for w in selected if w.kind == kind]
        if chosen:
            hot(chosen, report, irq=kind == "irq")
    for kind, measure in (("cold", cold), ("memory", memory), ("repair", repair.measure)):
        for w in (w for w in selected if w.kind == kind):
            devices.running(w.name)
            measure(w, report)


@contextlib.contextmanager
def hot_device(w):
    """The device of a workload that can be profiled."""
    with Hot(w.kind == "irq").target(w.softirq) as device:
        yield device
