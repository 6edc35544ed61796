#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs in the VM: prepares devices, lets fio read them, and reports raw figures.

Each figure is a line "bench: " and a JSON object on standard output.
"""

import argparse
import importlib
import json
import sys

import marks
import workloads


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--bench", default="verity", choices=workloads.BENCHES)
    p.add_argument("--workload", help="pattern of the workloads to run (default: all)")
    p.add_argument("--impl", required=True, choices=("c", "rust"))
    p.add_argument("--profile", action="store_true", help="read between marks for the plugin")
    return p.parse_args()


def main():
    o = options()
    selected = workloads.select(o.bench, o.workload)
    if not selected:
        sys.exit(f"bench: no workload is named {o.workload}")
    bench = importlib.import_module(o.bench)
    if o.profile:
        if len(selected) != 1 or selected[0].kind not in ("hot", "irq", "fast", "null", "engine"):
            sys.exit("bench: a profile is of one workload on a fast device with a warm cache")
        with bench.hot_device(selected[0]) as device:
            marks.profile(workloads.SHAPES[selected[0].shape], device)
        return

    def report(workload, method, value, unit, impl=o.impl):
        line = {"workload": workload, "impl": impl, "method": method, "value": value, "unit": unit}
        print("bench:", json.dumps(line), flush=True)

    bench.run(selected, report)


main()
