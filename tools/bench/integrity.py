# SPDX-License-Identifier: GPL-2.0
"""The workloads of integrity."""

import contextlib
import os
import struct
import sys

import devices
from devices import MIB, sh
from workloads import SHAPES

FAST_SIZE = 64 * MIB
SLOW_SIZE = 192 * MIB
SLOW_MBPS = 120
SLOW_READ_MS = 8
TAG_SIZE = 4
# Where the superblock has the sectors for data, `provided_data_sectors`.
SUPERBLOCK_SECTORS = 16


@contextlib.contextmanager
def target(device, mode, buffer_sectors):
    """A new integrity device with a checksum for each 512 bytes."""
    options = [
        f"buffer_sectors:{buffer_sectors}",
        "interleave_sectors:65536",
        "fix_padding",
        "internal_hash:crc32c",
    ]

    def create(sectors):
        words = [0, sectors, "integrity", device, 0, TAG_SIZE, mode, len(options), *options]
        sh("dmsetup", "create", "bench", "--table", " ".join(map(str, words)))

    with open(device, "r+b", buffering=0) as f:
        os.pwrite(f.fileno(), bytes(4096), 0)
        os.fsync(f.fileno())
    # Whatever the length, it formats a device that has no superblock.
    create(8)
    sh("dmsetup", "remove", "bench")
    with open(device, "rb") as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        f.seek(SUPERBLOCK_SECTORS)
        (sectors,) = struct.unpack("<Q", f.read(8))
    if not sectors:
        sys.exit("bench: the device was not formatted")
    create(sectors)
    try:
        yield "/dev/mapper/bench", sectors * 512
    finally:
        sh("dmsetup", "remove", "bench")


def write_all(device, size):
    copy = ["dd", "if=/dev/zero", f"of={device}", "bs=1M", f"count={size}", "status=none"]
    sh(*copy, "iflag=count_bytes", "oflag=direct")


@contextlib.contextmanager
def hot_device(w):
    """One on a ramdisk, with the tags of all blocks in the cache where they fit."""
    (lower,) = devices.ramdisks(FAST_SIZE)
    with target(lower, w.mode, w.buffer_sectors) as (device, size):
        write_all(device, size)
        yield device


def fast(w, report):
    """Times on a ramdisk."""
    shape = SHAPES[w.shape]
    with hot_device(w) as device:
        report(w.name, "icount", devices.fio(shape, device), "us")
    (lower,) = devices.ramdisks(FAST_SIZE)
    report(w.name, "icount", devices.fio(shape, lower), "us", impl="device")


def slow(w, report):
    """What is read and written, and how fast, on a disk where each read takes long."""
    shape = SHAPES[w.shape]
    max_sectors = 256 if "requests128k" in w.options else 2560
    lower = devices.null_device("slow", SLOW_SIZE, mbps=SLOW_MBPS, max_sectors=max_sectors)
    mib = shape.ios * shape.bs / MIB
    with devices.slow_reads("bench-slow", lower, SLOW_READ_MS) as disk:
        with target(disk, w.mode, w.buffer_sectors) as (device, _):
            before = devices.counts(lower)
            us = devices.fio(shape, device)
            sh("dmsetup", "suspend", "bench")
            after = devices.counts(lower)
            sh("dmsetup", "resume", "bench")
        for name, a, b in zip(("reads", "writes", "flushes"), before, after):
            report(w.name, f"count-{name}", (b - a) / mib, "requests/MiB")
        report(w.name, "icount", shape.bs / MIB / (us / 1e6), "MiB/s")
        report(w.name, "icount", shape.bs / MIB / (devices.fio(shape, disk) / 1e6), "MiB/s",
               impl="device")
    devices.remove_null_device("slow")


def run(selected, report):
    for w in selected:
        devices.running(w.name)
        {"fast": fast, "slow": slow}[w.kind](w, report)
