# SPDX-License-Identifier: GPL-2.0
"""The workloads of crypt: aes-xts-plain64 with a key of 512 bits.

On a ramdisk for bios only; on a device with a scheduler for requests too.
"""

import contextlib

import devices
from devices import MIB, sh
from workloads import SHAPES

SIZE = 64 * MIB
KEY = "ab" * 32 + "cd" * 32


@contextlib.contextmanager
def target(device, options, name="crypt"):
    words = [0, SIZE // 512, name, "aes-xts-plain64", KEY, 0, device, 0]
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
            devices.fill(self.made[kind], SIZE)
        return self.made[kind]

    @staticmethod
    def fast():
        return devices.ramdisks(SIZE)[0]

    @staticmethod
    def null():
        return devices.null_device("bench", SIZE, scheduler="mq-deadline")


@contextlib.contextmanager
def hot_device(w):
    """The device of a workload that can be profiled."""
    with target(Lower().get(w.kind), w.options) as device:
        yield device


def run(selected, report):
    lower = Lower()
    alone = {}
    for w in selected:
        shape, below = SHAPES[w.shape], lower.get(w.kind)
        devices.running(w.name)
        with target(below, w.options) as device:
            report(w.name, "icount", devices.fio(shape, device), "us")
        if w.kind != "fast" and "crypt-rq" in sh("dmsetup", "targets"):
            with target(below, w.options, "crypt-rq") as device:
                devices.set_scheduler(device, "mq-deadline")
                report(w.name, "icount", devices.fio(shape, device), "us", impl="rust-rq")
        if (w.shape, w.kind) not in alone:
            alone[w.shape, w.kind] = devices.fio(shape, below)
        report(w.name, "icount", alone[w.shape, w.kind], "us", impl="device")
