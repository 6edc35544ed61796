# SPDX-License-Identifier: GPL-2.0
"""The workloads of the bench: what fio does, on what device, and how the result is named."""

import dataclasses
import fnmatch


@dataclasses.dataclass(frozen=True)
class Shape:
    """How fio reads or writes. All shapes are direct I/O of a fixed number of requests."""

    rw: str
    bs: int
    ios: int  # per job
    engine: str = "psync"
    depth: int = 1
    jobs: int = 1
    fsync: bool = False  # after each request
    batch: int = 0  # requests that are submitted, and waited for, at a time

    @property
    def writes(self):
        return "write" in self.rw

    def arguments(self, device, ios=None):
        return [
            f"--filename={device}",
            f"--rw={self.rw}",
            f"--bs={self.bs}",
            f"--ioengine={self.engine}",
            f"--iodepth={self.depth}",
            f"--numjobs={self.jobs}",
            f"--number_ios={ios or self.ios}",
            # Offsets are the same in each run; no map of blocks already read is kept.
            "--randrepeat=1",
            "--norandommap",
            "--name=bench",
            "--direct=1",
            "--thread",
            "--group_reporting",
            "--disk_util=0",
            "--clat_percentiles=0",
            "--output-format=json",
            *(["--fsync=1"] if self.fsync else []),
            *self.batches(),
        ]


    def batches(self):
        if not self.batch:
            return []
        return [f"--iodepth_batch={self.batch}", f"--iodepth_batch_complete_min={self.batch}"]


SHAPES = {
    "randread4k-psync": Shape("randread", 4096, 6000),
    "randread4k-uring32": Shape("randread", 4096, 8000, engine="io_uring", depth=32),
    "randread4k-4jobs": Shape("randread", 4096, 2500, jobs=4),
    "read128k": Shape("read", 131072, 500),
    "cold-read128k": Shape("read", 131072, 2048),
    "cold-randread4k": Shape("randread", 4096, 500),
    "randread4k": Shape("randread", 4096, 4000),
    "randwrite4k": Shape("randwrite", 4096, 4000),
    "write64k": Shape("write", 65536, 512),
    "fsync4k": Shape("randwrite", 4096, 200, fsync=True),
    "randread512-8jobs": Shape("randread", 512, 1500, jobs=8),
    "randwrite512-8jobs": Shape("randwrite", 512, 1500, jobs=8),
    "read512k": Shape("read", 524288, 120),
    "write512k": Shape("write", 524288, 120),
    "read4k-uring32": Shape("read", 4096, 16384, engine="io_uring", depth=32, batch=16),
    "write4k-uring32": Shape("write", 4096, 16384, engine="io_uring", depth=32, batch=16),
}


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    kind: str  # which of the measurements of its bench, or of its devices
    shape: str
    softirq: bool = False
    repair: tuple = ()  # roots, and whether tree and parity are garbage
    mode: str = ""  # of integrity
    buffer_sectors: int = 128  # of integrity
    options: tuple = ()  # of the table of crypt, or of the disks of the others


def _verity():
    modes = {"softirq": True, "workqueue": False}
    for shape in ("randread4k-psync", "randread4k-uring32"):
        for mode, softirq in modes.items():
            yield Workload(f"verity-{shape}-{mode}", "hot", shape, softirq)
    yield Workload("verity-randread4k-4jobs-softirq", "hot", "randread4k-4jobs", True)
    for mode, softirq in modes.items():
        yield Workload(f"verity-read128k-{mode}", "hot", "read128k", softirq)
    for shape in ("randread4k-psync", "randread4k-uring32", "read128k"):
        for mode, softirq in modes.items():
            yield Workload(f"verity-{shape}-irq-{mode}", "irq", shape, softirq)
    for shape in ("cold-read128k", "cold-randread4k"):
        yield Workload(f"verity-{shape}", "cold", shape, False)
    yield Workload(
        "verity-cold-read128k-nomerges", "cold", "cold-read128k", options=("nomerges",)
    )
    for mode, softirq in modes.items():
        yield Workload(f"verity-memory-{mode}", "memory", "", softirq)
    for roots in (2, 24):
        yield Workload(f"verity-repair-roots{roots}", "repair", "", False, (roots, False))
        yield Workload(f"verity-crafted-roots{roots}", "repair", "", False, (roots, True))


def _integrity():
    for mode in "JBD":
        for shape in ("write64k", "randwrite4k", "randread4k", "fsync4k"):
            yield Workload(f"integrity-{shape}-{mode}", "fast", shape, mode=mode)
        for sectors in (1, 8, 128):
            name = f"integrity-slow-write64k-{mode}-buffer{sectors}"
            yield Workload(name, "slow", "write64k", mode=mode, buffer_sectors=sectors)
    for sectors in (8, 128):
        yield Workload(
            f"integrity-slow-write64k-J-buffer{sectors}-requests128k",
            "slow",
            "write64k",
            mode="J",
            buffer_sectors=sectors,
            options=("requests128k",),
        )


def _crypt():
    tables = {
        "": (),
        "-4096": ("sector_size:4096",),
        "-inline": ("no_read_workqueue", "no_write_workqueue"),
    }
    for suffix, options in tables.items():
        for shape in ("randread4k", "randwrite4k", "read512k", "write512k"):
            yield Workload(f"crypt-{shape}{suffix}", "fast", shape, options=options)
    for shape in ("randread512-8jobs", "randwrite512-8jobs"):
        yield Workload(f"crypt-{shape}", "fast", shape)
    for shape in ("read4k-uring32", "write4k-uring32", "read512k", "write512k"):
        yield Workload(f"crypt-{shape}-null", "null", shape)
    for shape in ("randread4k", "read4k-uring32", "write4k-uring32", "read512k", "write512k"):
        for suffix in ("", "-4096"):
            yield Workload(
                f"crypt-{shape}-engine{suffix}", "engine", shape, options=tables[suffix]
            )


BENCHES = {
    "verity": tuple(_verity()),
    "integrity": tuple(_integrity()),
    "crypt": tuple(_crypt()),
}


def select(bench, pattern=None):
    """The workloads of a bench with names like the pattern."""
    return [w for w in BENCHES[bench] if not pattern or fnmatch.fnmatch(w.name, pattern)]
