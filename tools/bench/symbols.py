#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Instructions by function, from the output of the VM and the counts of the plugin.

Between the first and the second mark N requests were read, between the second and
the third three times as many: what differs is the cost of the requests alone.
"""

import argparse
import bisect
import collections
import json
import re
import subprocess
import sys

USER = ("(user space)", "")


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--counts", required=True)
    p.add_argument("--output", required=True, help="output of the VM")
    p.add_argument("--lines", type=int, default=60)
    p.add_argument("--module", help="only functions of this module; kernel: of no module")
    p.add_argument("--json")
    return p.parse_args()


def snapshots(path):
    """The counts by address at each mark."""
    marks = []
    with open(path) as f:
        for line in f:
            a, b = line.split()
            if a == "mark":
                marks.append({})
            else:
                marks[-1][int(a, 16)] = int(b)
    if len(marks) != 3:
        sys.exit(f"profile: {len(marks)} marks instead of 3 in {path}")
    return marks


def guest(path):
    """The functions, sorted by address, and the number of requests."""
    functions, requests = [], 0
    with open(path, errors="replace") as f:
        for line in f:
            if line.startswith("symbol: "):
                _, address, _, name, *module = line.split()
                functions.append(
                    (int(address, 16), name, module[0].strip("[]") if module else "kernel")
                )
            elif line.startswith("requests: "):
                requests = int(line.split()[1])
    if not functions or not requests:
        sys.exit(f"profile: the VM reported no symbols; its output is in {path}")
    functions.sort()
    return functions, requests


def demangle(names):
    text = subprocess.run(
        ["c++filt", "-s", "rust"],
        input="\n".join(names),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    short = (
        re.sub(
            r"::\{impl#\d+\}|<(\w+::)+|\[[0-9a-f]{16}\]", lambda m: "<" if m[0][0] == "<" else "", n
        )
        for n in text.splitlines()
    )
    return dict(zip(names, short))


def by_function(marks, functions):
    addresses = [a for a, _, _ in functions]
    totals = collections.Counter()
    for address, last in marks[2].items():
        first, second = marks[0].get(address, 0), marks[1].get(address, 0)
        n = (last - second) - (second - first)
        if not n:
            continue
        at = bisect.bisect_right(addresses, address) - 1
        totals[functions[at][1:] if address >> 47 and at >= 0 else USER] += n
    return totals


def main():
    o = options()
    functions, requests = guest(o.output)
    totals = by_function(snapshots(o.counts), functions)
    names = demangle(sorted({name for name, _ in totals}))
    rows = [(n / requests, names[name], module) for (name, module), n in totals.items()]
    rows.sort(reverse=True)
    everything = sum(n for n, _, _ in rows)
    modules = collections.Counter()
    for n, _, module in rows:
        modules[module or "user space"] += n

    print("instructions per request")
    for module, n in modules.most_common():
        if abs(n) >= 1:
            print(f"{n:10.1f} {100 * n / everything:5.1f} %  {module}")
    print(f"{everything:10.1f} 100.0 %  all\n")
    chosen = [r for r in rows if not o.module or r[2] == o.module]
    for n, name, module in chosen[: o.lines]:
        print(
            f"{n:10.1f} {100 * n / everything:5.1f} %  {name}"
            + (f" [{module}]" if module not in ("kernel", "") else "")
        )
    if o.json:
        with open(o.json, "w") as f:
            json.dump(
                [{"symbol": name, "module": module, "instructions": n} for n, name, module in rows],
                f,
                indent=1,
            )


main()
