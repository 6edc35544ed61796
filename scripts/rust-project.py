#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Writes rust-project.json for rust-analyzer. Runs in the build root, after `make rust-analyzer`
of the kernel tree.

    rust-project.py BUILD TREE CACHE

The kernel's file knows nothing of the crate `dm`, and has the paths of the build root. TREE and
CACHE are the host's names of /rdm and /cache.
"""

import json
import os
import sys


def host_path(path, build, tree, cache):
    path = os.path.normpath(os.path.join(build, path))
    for inside, outside in (("/rdm", tree), ("/cache", cache), ("/usr", f"{cache}/root/usr")):
        if f"{path}/".startswith(f"{inside}/"):
            return outside + path.removeprefix(inside)
    return path


def translate(value, *where):
    """All strings that are paths, wherever they are."""
    if isinstance(value, dict):
        return {k: translate(v, *where) for k, v in value.items()}
    if isinstance(value, list):
        return [translate(v, *where) for v in value]
    if isinstance(value, str) and value.startswith(("/", "../")):
        return host_path(value, *where)
    return value


def main():
    build, tree, cache = sys.argv[1:]
    with open(f"{build}/rust-project.json", encoding="utf-8") as f:
        project = translate(json.load(f), build, tree, cache)
    crates = project["crates"]
    dm = next(i for i, c in enumerate(crates) if c["display_name"] == "dm")
    bindings = host_path(f"{build}/rust/bindings", build, tree, cache)
    root = os.path.dirname(crates[dm]["root_module"])
    crates[dm]["env"]["RDM_OBJTREE"] = host_path(build, build, tree, cache)
    crates[dm]["source"] = {"include_dirs": [root, bindings], "exclude_dirs": []}
    for crate in crates:
        if crate["root_module"].startswith(f"{tree}/drivers/"):
            crate["deps"].append({"crate": dm, "name": "dm"})
    with open("rust-project.json", "w", encoding="utf-8") as f:
        json.dump(project, f, indent=1, sort_keys=True)


main()
