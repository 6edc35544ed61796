# SPDX-License-Identifier: GPL-2.0
"""The workloads of crypt: aes-xts-plain64 with a key of 512 bits.

On a ramdisk for bios only; on a device with a scheduler for requests too. With a simulated engine,
whose module needs the crate also where the target is C's.
"""

import contextlib
import os

import devices
from devices import MIB, sh
from workloads import SHAPES

SIZE = 64 * MIB
KEY = "ab" * 32 + "cd" * 32

MODULES = "/rdm/build"
ENGINE = "/sys/module/test_engine/parameters"
# For each request, and for each byte of it, in units of the parameters.
ENGINE_COST = {"request_ns": 2000, "byte_ps": 4000}


@contextlib.contextmanager
def target(device, options, name="crypt", cipher="aes-xts-plain64"):
    words = [0, SIZE // 512, name, cipher, KEY, 0, device, 0]
    if options:
        words += [len(options), *options]
    sh("dmsetup", "create", "bench", "--table", " ".join(map(str, words)))
    try:
        yield "/dev/mapper/bench"
    finally:
        sh("dmsetup", "remove", "bench")


class Lower:
    """The devices below, each made and filled when it is first needed."""

    def __init__(self):
        self.made = {}
        # As udev does.
        sh("modprobe", "aesni_intel")
        sh("modprobe", "mq-deadline")

    def get(self, kind):
        if kind not in self.made:
            self.made[kind] = getattr(self, kind)()
            if kind != "engine":
                devices.fill(self.made[kind], SIZE)
        return self.made[kind]

    @staticmethod
    def fast():
        return devices.ramdisks(SIZE)[0]

    def engine(self):
        if not os.path.exists("/sys/module/rdm"):
            sh("insmod", f"{MODULES}/rdm.ko")
        sh("insmod", f"{MODULES}/test_engine.ko")
        for parameter, value in ENGINE_COST.items():
            devices.write(f"{ENGINE}/{parameter}", value)
        return self.get("null")

    @staticmethod
    def null():
        return devices.null_device("bench", SIZE, scheduler="mq-deadline")


@contextlib.contextmanager
def hot_device(w):
    """The device of a workload that can be profiled."""
    with target(Lower().get(w.kind), w.options, cipher=cipher_of(w)) as device:
        yield device


def cipher_of(w):
    return "capi:xts-aes-engine-plain64" if w.kind == "engine" else "aes-xts-plain64"


def engine_time(shape, device):
    """Time of a request, and how often the engine had nothing to do, per 1000 sectors."""
    for counter in ("requests", "idle"):
        devices.write(f"{ENGINE}/{counter}", 0)
    us = devices.fio(shape, device)
    requests, idle = (int(devices.read(f"{ENGINE}/{counter}")) for counter in ("requests", "idle"))
    return us, 1000 * idle / requests


def measure(w, shape, device, report, **impl):
    """Reports on one mapped device."""
    if w.kind == "engine":
        us, idle = engine_time(shape, device)
        report(w.name, "count-idle", idle, "times/1000 requests of the engine", **impl)
    else:
        us = devices.fio(shape, device)
    report(w.name, "icount", us, "us", **impl)


def run(selected, report):
    lower = Lower()
    alone = {}
    for w in selected:
        shape, below = SHAPES[w.shape], lower.get(w.kind)
        devices.running(w.name)
        with target(below, w.options, cipher=cipher_of(w)) as device:
            measure(w, shape, device, report)
        if w.kind != "fast" and "crypt-rq" in sh("dmsetup", "targets"):
            with target(below, w.options, "crypt-rq", cipher_of(w)) as device:
                devices.set_scheduler(device, "mq-deadline")
                measure(w, shape, device, report, impl="rust-rq")
        if (w.shape, w.kind) not in alone:
            alone[w.shape, w.kind] = devices.fio(shape, below)
        report(w.name, "icount", alone[w.shape, w.kind], "us", impl="device")
