#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Power cuts of a volume whose data and tags are on two disks, each of which forgets what was
not flushed to it.

Each disk has a dm-log-writes of its own, which lists a write when it is durable. Now and then
during a load both are held, and get the same mark. The two logs up to that mark are what the
disks would have after a power cut at that moment. Usage: see log_writes.py.
"""

import shutil
import sys
import threading
import time

import crash_load
import write_log
from dmctl import Mapped
from log_writes import options
from volume import SECTOR, Volume, settle

NAMES = ("data", "meta")


def size(path):
    with open(path, "rb") as f:
        return f.seek(0, 2)


class Snapshots:
    """Marks in both logs, with what had been reported by then."""

    def __init__(self, logs):
        self.logs, self.done, self.taken = logs, {}, []

    def report(self, thread, n):
        self.done[thread] = n

    def take(self):
        # First the data: what is on the other disk may follow from what is on this one.
        for log in self.logs:
            log.suspend()
        done = dict(self.done)
        for log in self.logs:
            log.message(f"mark snapshot{len(self.taken)}")
        for log in reversed(self.logs):
            log.resume()
        self.taken.append(done)


def load(o, devices, logs):
    """Loads the volume; gives it, and the snapshots."""
    volume = Volume(o.target, devices[0], o.mode, o.options)
    volume.meta = devices[1]
    volume.make()
    for name in NAMES:
        shutil.copyfile(f"{o.dir}/{name}", f"{o.dir}/{name}.base")
    logged = [Mapped(f"ksft-log{i}", size(f"{o.dir}/{name}") // SECTOR, "log-writes",
                     f"{devices[i]} {logs[i]}") for i, name in enumerate(NAMES)]
    try:
        plan = crash_load.Plan(o.seed, o.threads, volume.sectors, volume.block)
        snapshots = Snapshots(logged)
        with volume.on(o.target, logged[0].path, logged[1].path).open() as mapped:
            thread = threading.Thread(target=crash_load.run, args=(
                plan, mapped.path, o.operations, snapshots.report))
            thread.start()
            while thread.is_alive():
                time.sleep(0.05)
                snapshots.take()
        if any("logging_disabled" in log.status() for log in logged):
            raise RuntimeError("a log was too small")
    finally:
        for log in logged:
            log.remove()
    return volume, plan, snapshots.taken


def until(entries, mark):
    for entry in entries:
        if entry.flags & write_log.MARK and entry.data.decode() == mark:
            return
        yield entry


def check(o, volume, devices, plan, taken):
    logs = [write_log.read(f"{o.dir}/{name}.log") for name in NAMES]
    bad = 0
    some = range(0, len(taken), max(1, len(taken) // (o.points or len(taken))))
    for number in some:
        done = taken[number]
        for target in o.targets.split(","):
            for name, entries in zip(NAMES, logs):
                with open(f"{o.dir}/{name}.base", "rb") as f:
                    image = bytearray(f.read())
                for entry in [] if o.forget else until(entries, f"snapshot{number}"):
                    entry.apply(image)
                with open(f"{o.dir}/{name}", "r+b") as f:
                    f.write(image)
            with volume.on(target, *devices).open() as mapped:
                settle(mapped)
                wrong = list(crash_load.differences(plan, done, mapped, volume.sectors, o.mode))
            bad += bool(wrong)
            for text in wrong[:3] if bad <= 5 else []:
                print(f"{target}: snapshot {number}: {text}")
    print(f"mode {o.mode}: {len(some)} of {len(taken)} snapshots, "
          f"{sum(map(len, logs))} log entries, {bad} bad")
    return 1 if bad or not taken else 0


def main():
    o = options()
    devices, logs = o.device.split(","), o.log_device.split(",")
    volume, plan, taken = load(o, devices, logs)
    return check(o, volume, devices, plan, taken)


if __name__ == "__main__":
    sys.exit(main())
