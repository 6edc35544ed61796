# SPDX-License-Identifier: GPL-2.0
"""The workloads of verity."""

import contextlib
import hashlib
import os
import re

import devices
import marks
from devices import MIB, sh
from workloads import SHAPES

BLOCK = 4096
SALT = bytes(32)
HOT_SIZE = 64 * MIB
COLD_SIZE = 256 * MIB
# A random read far from all others; its size decides how many leaves there are.
COLD_RANDOM_SIZE = 4096 * MIB
MEMORY_SIZE = 1024 * MIB
COLD_LATENCY_NS = 100_000
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


@contextlib.contextmanager
def target(data, tree, size, root, softirq, start=0):
    """A verity device. The tree starts at that block of its device."""
    words = ["0", size // 512, "verity", 1, data, tree, BLOCK, BLOCK, size // BLOCK, start, "sha256", root, SALT.hex()]
    if softirq:
        words += [1, "try_verify_in_tasklet"]
    sh("dmsetup", "create", "bench", "--readonly", "--table", " ".join(map(str, words)))
    try:
        yield "/dev/mapper/bench"
    finally:
        sh("dmsetup", "remove", "bench")


def read_through(device, step=MIB):
    """Reads a block, or all, of each step, so that its hashes are cached."""
    if step == MIB:
        sh("dd", f"if={device}", "of=/dev/null", "bs=1M", "iflag=direct", "status=none")
        return
    fd = os.open(device, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    for at in range(0, os.lseek(fd, 0, os.SEEK_END), step):
        os.pread(fd, BLOCK, at)
    os.close(fd)


class Hot:
    """Ramdisks, and a tree that is in memory."""

    def __init__(self):
        self.data, self.tree = devices.ramdisks(HOT_SIZE, HOT_SIZE)
        devices.fill(self.data, HOT_SIZE)
        out = sh("veritysetup", "format", f"--salt={SALT.hex()}", "--uuid=00000000-0000-0000-0000-000000000001",
                 self.data, self.tree)
        self.root = re.search(r"Root hash:\s*(\w+)", out).group(1)

    @contextlib.contextmanager
    def target(self, softirq):
        with target(self.data, self.tree, HOT_SIZE, self.root, softirq, start=1) as device:
            read_through(device)
            yield device


def hot(selected, report):
    setup = Hot()
    alone = {}
    hashing = hash_times()
    for softirq in (True, False):
        chosen = [w for w in selected if w.kind == "hot" and w.softirq == softirq]
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
            report(w.name, "icount", hashing["single"] * shape.bs / BLOCK, "us", impl="hash")
            report(w.name, "icount-2x", hashing["pair"] * shape.bs / BLOCK, "us", impl="hash")


def hash_times():
    """The time in µs for hashing a block, alone and two at a time."""
    sh("insmod", HASH_MODULE)
    ns = {k: int(devices.read(f"/sys/module/rdm_bench/parameters/{k}_ns")) for k in ("single", "pair")}
    sh("rmmod", "rdm_bench")
    return {k: v / 1000 / BLOCKS_HASHED for k, v in ns.items()}


BLOCKS_HASHED = 1000


def cold(w, report):
    """Counts what is read of each device when nothing is cached."""
    size = COLD_SIZE if SHAPES[w.shape].rw == "read" else COLD_RANDOM_SIZE
    data = devices.null_device("data", size, COLD_LATENCY_NS)
    tree = devices.null_device("tree", max(size // 64, 16 * MIB), COLD_LATENCY_NS)
    root, _ = zero_tree(tree, size // BLOCK)
    with target(data, tree, size, root, w.softirq) as device:
        before = {d: devices.reads(d) for d in (data, tree)}
        us = devices.fio(SHAPES[w.shape], device)
        after = {d: devices.reads(d) for d in (data, tree)}
    for name, d in (("hash", tree), ("data", data)):
        for i, unit in enumerate(("requests", "sectors")):
            report(w.name, f"count-{name}", after[d][i] - before[d][i], unit)
    report(w.name, "icount", us, "us")
    for name in ("data", "tree"):
        devices.remove_null_device(name)


def allocated():
    for module in ("rdm", "dm_bufio"):
        path = f"/sys/module/{module}/parameters/current_allocated_bytes"
        if os.path.exists(path):
            return int(devices.read(path))
    return None


def memory_used():
    """Bytes of memory that are not free, with what the kernel could give back counted as free."""
    devices.write("/proc/sys/vm/compact_memory", 1)
    info = dict(re.findall(r"(\w+):\s+(\d+) kB", devices.read("/proc/meminfo")))
    return (int(info["MemTotal"]) - int(info["MemFree"]) - int(info["Cached"]) - int(info["Buffers"])) * 1024


def memory(w, report):
    """Bytes for each cached block of a tree: as counted, and as missing from free memory."""
    data = devices.null_device("data", MEMORY_SIZE)
    tree = devices.null_device("tree", 16 * MIB)
    root, blocks = zero_tree(tree, MEMORY_SIZE // BLOCK)
    with target(data, tree, MEMORY_SIZE, root, w.softirq) as device:
        counted, used = allocated(), memory_used()
        read_through(device, step=BLOCK * (BLOCK // 32))
        if counted is not None:
            report(w.name, "bufio", (allocated() - counted) / blocks, "bytes")
        report(w.name, "meminfo", (memory_used() - used) / blocks, "bytes")
    for name in ("data", "tree"):
        devices.remove_null_device(name)


def run(selected, report):
    if any(w.kind == "hot" for w in selected):
        hot(selected, report)
    for w in (w for w in selected if w.kind != "hot"):
        devices.running(w.name)
        if w.kind == "cold":
            cold(w, report)
        else:
            memory(w, report)


def profile(w):
    """Reads N and then three times N, between marks: the difference has no start of fio."""
    shape = SHAPES[w.shape]
    ios = shape.ios // 4
    with Hot().target(w.softirq) as device:
        devices.fio(shape, device, ios)
        for n in (ios, 3 * ios):
            marks.mark()
            devices.fio(shape, device, n)
        marks.mark()
    print("requests:", 2 * ios * shape.jobs)
