#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Loads a volume on dm-log-writes, then replays the log to its flush and FUA marks.

    log_writes.py load  OPTIONS    makes a volume, keeps its image, and logs a load
    log_writes.py check OPTIONS    opens what a crash would have left, with each target
"""

import argparse
import json
import random
import shutil
import sys

import crash_load
import write_log
from dmctl import Mapped
from volume import SECTOR, Volume, settle


def options():
    p = argparse.ArgumentParser()
    p.add_argument("command", choices=("load", "check"))
    p.add_argument("--dir", required=True, help="of the files: image, log, base, job")
    p.add_argument("--device", help="a block device with the file 'image'")
    p.add_argument("--log-device", help="a block device with the file 'log'")
    p.add_argument("--target", help="that makes and loads the volume")
    p.add_argument("--targets", help="that open it after a crash, separated by commas")
    p.add_argument("--mode")
    p.add_argument("--options", default="internal_hash:crc32c")
    p.add_argument("--operations", type=int, default=60)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--points", type=int, help="how many, evenly spread; all if not given")
    p.add_argument("--forget", action="store_true", help="replay nothing: must find losses")
    return p.parse_args()


def load(o):
    volume = Volume(o.target, o.device, o.mode, o.options)
    volume.make()
    shutil.copyfile(f"{o.dir}/image", f"{o.dir}/base")
    with open(f"{o.dir}/base", "rb") as f:
        lower = len(f.read()) // SECTOR
    with Mapped("ksft-logged", lower, "log-writes", f"{o.device} {o.log_device}") as logged:
        loaded = volume.on(o.target, logged.path)
        plan = crash_load.Plan(o.seed, o.threads, loaded.sectors, volume.block)
        with loaded.open() as mapped:
            crash_load.run(plan, mapped.path, o.operations,
                           lambda t, n: logged.message(f"mark {t}:{n}"))
            logged.message("mark end")
        if "logging_disabled" in logged.status():
            raise RuntimeError("the log was too small")
    job = {"mode": o.mode, "options": o.options, "sectors": loaded.sectors,
           "seed": o.seed, "threads": o.threads}
    with open(f"{o.dir}/job", "w") as f:
        json.dump(job, f)


def sample(points, count):
    """Some of them, the same share of each kind."""
    if count is None or count >= len(points):
        return points
    rng = random.Random(count)
    chosen = []
    kinds = sorted({p.kind for p in points})
    for i, kind in enumerate(kinds):
        of_kind = [p for p in points if p.kind == kind]
        share = (count - len(chosen)) // (len(kinds) - i)
        chosen += rng.sample(of_kind, min(share, len(of_kind)))
    return sorted(chosen, key=lambda p: (p.whole, p.end))


def reported(marks):
    """The last operation of each thread that was reported."""
    done = {}
    for mark in marks:
        if ":" in mark:
            thread, n = map(int, mark.split(":"))
            done[thread] = max(n, done.get(thread, -1))
    return done


def crashed(volume, target, o, image, plan, done):
    """Opens an image, and says what is wrong with it."""
    with open(f"{o.dir}/image", "r+b") as f:
        f.write(image)
    try:
        with volume.on(target, o.device).open() as mapped:
            settle(mapped)
            return list(crash_load.differences(plan, done, mapped, volume.sectors, volume.mode))
    except (OSError, RuntimeError) as e:
        return [str(e)]


def check(o):
    with open(f"{o.dir}/job") as f:
        job = json.load(f)
    volume = Volume("", "", job["mode"], job["options"])
    volume.sectors = job["sectors"]
    plan = crash_load.Plan(job["seed"], job["threads"], volume.sectors, volume.block)
    entries = write_log.read(f"{o.dir}/log")
    with open(f"{o.dir}/base", "rb") as f:
        base = f.read()
    every = write_log.points(entries)
    some, bad = sample(every, o.points), 0
    replay = write_log.Replay(base, entries)
    for point in some:
        image, marks = replay.to(point)
        for target in o.targets.split(","):
            wrong = crashed(volume, target, o, base if o.forget else image, plan, reported(marks))
            bad += bool(wrong)
            for text in wrong[:3] if bad <= 5 else []:
                print(f"{target}: {point}: {text}")
    kinds = {k: sum(p.kind == k for p in some) for k in ("flush", "fua", "subset")}
    print(f"mode {volume.mode}: {len(some)} of {len(every)} points ({kinds}), "
          f"{len(entries)} log entries, {bad} bad")
    return 1 if bad or not some else 0


def main():
    o = options()
    return load(o) if o.command == "load" else check(o)


if __name__ == "__main__":
    sys.exit(main())
