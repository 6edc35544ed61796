# SPDX-License-Identifier: GPL-2.0
"""Block devices of the VM, and fio on them."""

import contextlib
import json
import os
import re
import subprocess
import sys

NULLB = "/sys/kernel/config/nullb"
MIB = 1 << 20


def sh(*argv, text=None):
    r = subprocess.run(argv, input=text, capture_output=True, text=True)
    if r.returncode:
        said = r.stderr.strip() or r.stdout.strip()
        sys.exit(f"bench: {' '.join(argv)}: status {r.returncode}: {said}")
    return r.stdout


def read(path):
    with open(path) as f:
        return f.read().strip()


def write(path, value):
    with open(path, "w") as f:
        f.write(str(value))


def running(what):
    """Says what takes time now."""
    print("running:", what, flush=True)


def in_sysfs(device):
    number = os.stat(device).st_rdev
    return f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"


def ramdisks(*sizes):
    """Ramdisks of at least these sizes. Any that were there before are gone."""
    if not os.path.exists(f"/dev/ram{len(sizes) - 1}"):
        sh("modprobe", "-r", "brd")
        sh("modprobe", "brd", f"rd_nr={len(sizes)}", f"rd_size={max(sizes) >> 10}")
    return [f"/dev/ram{i}" for i in range(len(sizes))]


def null_device(name, size, latency_ns=0, mbps=0, scheduler="none", max_sectors=2560):
    """A device that counts its requests and is empty at first.

    It ends requests in an interrupt after that time, or else where they are submitted. `mbps`
    limits how much it does, in 10^6 bytes for each second; `max_sectors`, requests, in 512 bytes.
    """
    if not os.path.isdir(NULLB):
        sh("modprobe", "null_blk", "nr_devices=0")
        if not os.path.isdir(NULLB):
            sh("mount", "-t", "configfs", "configfs", "/sys/kernel/config")
    directory = f"{NULLB}/{name}"
    os.mkdir(directory)
    settings = {
        "size": size // MIB,
        "memory_backed": 1,
        "blocksize": 512,
        "submit_queues": 1,
        "max_sectors": max_sectors,
        "irqmode": 2 if latency_ns else 0,
        "completion_nsec": latency_ns or 1,
        "mbps": mbps,
    }
    for key, value in settings.items():
        write(f"{directory}/{key}", value)
    write(f"{directory}/power", 1)
    names = [f"/dev/{name}", f"/dev/nullb{read(f'{directory}/index')}"]
    device = next(n for n in names if os.path.exists(n))
    set_scheduler(device, scheduler)
    return device


def never_merge(device):
    """Has the queue of a device pass on each request as it came."""
    write(f"{in_sysfs(device)}/queue/nomerges", 2)


def set_scheduler(device, scheduler):
    """Gives a device a scheduler of I/O, or takes it away."""
    write(f"{in_sysfs(device)}/queue/scheduler", scheduler)


def remove_null_device(name):
    write(f"{NULLB}/{name}/power", 0)
    os.rmdir(f"{NULLB}/{name}")


@contextlib.contextmanager
def linear(name, lower):
    """A linear device over all of another."""
    sectors = read(f"{in_sysfs(lower)}/size")
    sh("dmsetup", "create", name, "--table", f"0 {sectors} linear {lower} 0")
    try:
        yield f"/dev/mapper/{name}"
    finally:
        sh("dmsetup", "remove", name)


@contextlib.contextmanager
def slow_reads(name, lower, ms):
    """A device over all of another, that delays each read."""
    sectors = read(f"{in_sysfs(lower)}/size")
    table = f"0 {sectors} delay {lower} 0 {ms} {lower} 0 0"
    sh("modprobe", "dm-delay")
    sh("dmsetup", "create", name, "--table", table)
    try:
        yield f"/dev/mapper/{name}"
    finally:
        sh("dmsetup", "remove", name)


def statistics(device):
    """The fields of the `stat` file of a device."""
    return [int(field) for field in read(f"{in_sysfs(device)}/stat").split()]


def counts(device):
    """Completed requests of a device: reads, writes and flushes."""
    fields = statistics(device)
    return fields[0], fields[4], fields[15]


def reads(device):
    """Completed read requests and sectors of a device."""
    fields = statistics(device)
    return fields[0], fields[2]


def fill(device, size, offset=0):
    """Writes what cannot be compressed or merged, and is the same in each boot."""
    generate = ["openssl", "enc", "-aes-128-ctr", "-K", "00" * 16, "-iv", "00" * 16]
    generator = subprocess.Popen(
        [*generate, "-in", "/dev/zero"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    copy = ["dd", f"of={device}", "bs=1M", f"count={size}", "iflag=fullblock,count_bytes"]
    copy += [f"seek={offset}", "oflag=seek_bytes", "conv=notrunc", "status=none"]
    dd = subprocess.run(copy, stdin=generator.stdout)
    generator.kill()
    generator.wait()
    if dd.returncode:
        sys.exit(f"bench: {device} could not be filled")


def fio(shape, device, ios=None):
    """Mean time of a request in µs, as if one followed the other. With that of its fsync."""
    out = sh("fio", *shape.arguments(device, ios))
    # Notes of fio may precede the object.
    job = json.loads(re.sub(r"\A[^{]*", "", out))["jobs"][0]
    result = job["write" if shape.writes else "read"]
    if job["error"] or result["total_ios"] != (ios or shape.ios) * shape.jobs:
        done = result["total_ios"]
        sys.exit(f"bench: fio on {device}: error {job['error']}, {done} requests")
    ns = result["lat_ns"]["mean"]
    if shape.fsync:
        ns += job["sync"]["lat_ns"]["mean"]
    return ns / 1000 / (shape.depth * shape.jobs)
