# SPDX-License-Identifier: GPL-2.0
"""verity devices."""

import contextlib

from devices import sh

BLOCK = 4096
SALT = bytes(32)


@contextlib.contextmanager
def target(data, tree, size, root, softirq, start=0, options=()):
    """A verity device. The tree starts at that block of its device."""
    words = [
        "0",
        size // 512,
        "verity",
        1,
        data,
        tree,
        BLOCK,
        BLOCK,
        size // BLOCK,
        start,
        "sha256",
        root,
        SALT.hex(),
    ]
    options = [*options, *(["try_verify_in_tasklet"] if softirq else [])]
    if options:
        words += [len(options), *options]
    sh("dmsetup", "create", "bench", "--readonly", "--table", " ".join(map(str, words)))
    try:
        yield "/dev/mapper/bench"
    finally:
        sh("dmsetup", "remove", "bench")
