#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Documents the crates with the flags of their last build. Runs in the build root.

    rustdoc.py KERNEL-TREE BUILD CACHE

CACHE is the host's name of /cache, for links to the kernel's headers.
"""

import os
import re
import shlex
import subprocess
import sys

# What rustdoc does not know, with or without a value of its own.
DROP = re.compile(r"--emit=|-Ccodegen-units=|-Cmetadata=|--remap-path-scope=|-Ccode-model=")
DROP_WITH_VALUE = {"--out-dir"}
LINK = re.compile(r'<a href="srctree/([^"]+)"')


def saved_command(path):
    """The environment and the arguments of rustc."""
    with open(path) as f:
        command = f.readline().split(" := ", 1)[1]
    words = shlex.split(command)
    at = next(i for i, w in enumerate(words) if os.path.basename(w) in ("rustc", "clippy-driver"))
    env = dict(w.split("=", 1) for w in words[:at])
    return env, words[at + 1:]


def arguments(words):
    kept, words = [], iter(words)
    for word in words:
        if word in DROP_WITH_VALUE:
            next(words)
        elif not DROP.match(word):
            kept.append(word)
    return kept


def document(build, directory, crate, private):
    env, words = saved_command(f"{build}/{directory}/.{crate}.o.cmd")
    command = ["rustdoc", "--crate-name", crate, "--output", f"{build}/doc", "-Dwarnings",
               "--extern-html-root-url", "kernel=https://rust.docs.kernel.org/",
               *arguments(words)]
    if private:
        command.append("--document-private-items")
    env = {**os.environ, **env, "RDM_OBJTREE": build, "RUSTC_BOOTSTRAP": "1"}
    return subprocess.run(command, cwd=build, env=env).returncode == 0


def link(page, kdir, shown):
    """Points links to the kernel's headers at them. False if one does not exist."""
    with open(page) as f:
        text = f.read()
    wanted = LINK.findall(text)
    lost = [w for w in wanted if not os.path.exists(f"{kdir}/{w.split('#')[0]}")]
    for w in lost:
        print(f"{page}: no {w} in the kernel tree")
    if wanted:
        with open(page, "w") as f:
            f.write(LINK.sub(rf'<a href="{shown}/\1"', text))
    return not lost


def main():
    kdir, build, cache = sys.argv[1:]
    shown = os.path.realpath(kdir).replace("/cache/", f"{cache}/", 1)
    targets = sorted(d for d in os.listdir("drivers/md") if os.path.isdir(f"drivers/md/{d}"))
    good = document(build, "rust/dm", "dm", False)
    for target in targets:
        good &= document(build, f"drivers/md/{target}", target, True)
    for directory, _, names in os.walk(f"{build}/doc"):
        for name in names:
            if name.endswith(".html"):
                good &= link(f"{directory}/{name}", kdir, shown)
    return 0 if good else 1


sys.exit(main())
