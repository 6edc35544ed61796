# SPDX-License-Identifier: GPL-2.0
"""The workloads of crypt: aes-xts-plain64 with a key of 512 bits, on a ramdisk."""

import contextlib

import devices
from devices import MIB, sh
from workloads import SHAPES

SIZE = 64 * MIB
KEY = "ab" * 32 + "cd" * 32


@contextlib.contextmanager
def target(device, options):
    words = [0, SIZE // 512, "crypt", "aes-xts-plain64", KEY, 0, device, 0]
    if options:
        words += [len(options), *options]
    sh("dmsetup", "create", "bench", "--table", " ".join(map(str, words)))
    try:
        yield "/dev/mapper/bench"
    finally:
        sh("dmsetup", "remove", "bench")


def filled():
    """A ramdisk."""
    # As udev does.
    sh("modprobe", "aesni_intel")
    (lower,) = devices.ramdisks(SIZE)
    devices.fill(lower, SIZE)
    return lower


@contextlib.contextmanager
def hot_device(w):
    """The device of a workload that can be profiled."""
    with target(filled(), w.options) as device:
        yield device


def run(selected, report):
    lower = filled()
    alone = {}
    for w in selected:
        shape = SHAPES[w.shape]
        devices.running(w.name)
        with target(lower, w.options) as device:
            report(w.name, "icount", devices.fio(shape, device), "us")
        if w.shape not in alone:
            alone[w.shape] = devices.fio(shape, lower)
        report(w.name, "icount", alone[w.shape], "us", impl="device")
