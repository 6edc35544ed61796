#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Medians and spreads of raw figures: JSON, a table, a comparison."""

import argparse
import collections
import json
import statistics

FIELDS = ("workload", "impl", "method", "unit")


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--raw", required=True)
    p.add_argument("--json", required=True)
    p.add_argument("--compare")
    return p.parse_args()


def summary(path):
    """One object for each figure: median, and spread in percent of it."""
    figures = collections.defaultdict(list)
    with open(path) as f:
        for line in f:
            o = json.loads(line.removeprefix("bench: "))
            figures[tuple(o[k] for k in FIELDS)].append(o["value"])
    for key, values in figures.items():
        median = statistics.median(values)
        spread = 100 * (max(values) - min(values)) / median if median else 0
        workload, impl, method, unit = key
        yield {
            "workload": workload,
            "impl": impl,
            "method": method,
            "value": round(median, 3),
            "unit": unit,
            "spread": round(spread, 3),
            "runs": len(values),
        }


def index(results):
    return {tuple(r[k] for k in FIELDS): r for r in results}


def rows(results):
    """Workload, method and unit, and what was measured for each implementation."""
    table = {}
    for r in results:
        table.setdefault((r["workload"], r["method"], r["unit"]), {})[r["impl"]] = r
    return table


def cell(r):
    if not r:
        return "-"
    # Of one run there is no spread.
    return f"{r['value']:.1f}" + (f" ±{r['spread'] / 2:.1f}%" if r.get("runs", 1) > 1 else "")


def overhead(row, impl):
    """What is left of a time when the device and the hashing are taken away."""
    if not all(k in row for k in (impl, "device", "hash")):
        return None
    return row[impl]["value"] - row["device"]["value"] - row["hash"]["value"]


def number(n, form="{:.1f}"):
    return "-" if n is None else form.format(n)


def ratio(a, b):
    return a / b if a is not None and b else None


def print_table(lines, head):
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    for line in [head, ["-" * w for w in widths], *lines]:
        print(
            "  ".join(
                c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))
            ).rstrip()
        )
    print()


def print_times(table):
    head = [
        "workload, µs per request",
        "c",
        "rust",
        "c/rust",
        "device",
        "hash",
        "over c",
        "over rust",
        "rust/c",
    ]
    lines = []
    for (workload, method, unit), row in table.items():
        if unit != "us" or method != "icount":
            continue
        c, rust = (row[i]["value"] if i in row else None for i in ("c", "rust"))
        over_c, over_rust = overhead(row, "c"), overhead(row, "rust")
        lines.append(
            [
                workload,
                cell(row.get("c")),
                cell(row.get("rust")),
                number(ratio(c, rust), "{:.2f}"),
                *(number(row[i]["value"]) if i in row else "-" for i in ("device", "hash")),
                number(over_c),
                number(over_rust),
                number(ratio(over_rust, over_c), "{:.2f}"),
            ]
        )
    if lines:
        print_table(lines, head)


def print_requests(table):
    """Where there is a target for requests: that beside those for bios."""
    lines = []
    for (workload, _, unit), row in table.items():
        if "rust-rq" not in row or unit != "us":
            continue
        names = ("c", "rust", "rust-rq")
        c, rust, requests = (row[i]["value"] if i in row else None for i in names)
        cells = (cell(row.get(i)) for i in names)
        ratios = (number(ratio(bios, requests), "{:.2f}") for bios in (c, rust))
        lines.append([workload, *cells, *ratios])
    if lines:
        head = ["workload, µs per request", "c", "rust", "rust-rq", "c/rust-rq", "rust/rust-rq"]
        print_table(lines, head)


def print_counts(table):
    lines = []
    for (workload, method, unit), row in table.items():
        if unit == "us":
            continue
        c, rust = (row[i]["value"] if i in row else None for i in ("c", "rust"))
        lines.append(
            [
                f"{workload}, {method} {unit}",
                cell(row.get("c")),
                cell(row.get("rust")),
                number(ratio(rust, c), "{:.3f}"),
                cell(row.get("rust-rq")),
            ]
        )
    if lines:
        print_table(lines, ["workload, count", "c", "rust", "rust/c", "rust-rq"])


def print_changes(results, before):
    lines = []
    for key, now in index(results).items():
        then = before.get(key)
        if then and then["value"]:
            change = 100 * (now["value"] / then["value"] - 1)
            lines.append(
                [
                    f"{now['workload']}, {now['impl']}, {now['method']}",
                    cell(then),
                    cell(now),
                    now["unit"],
                    f"{change:+.1f}%",
                ]
            )
    print_table(lines, ["changes", "before", "now", "unit", "change"])


def main():
    o = options()
    results = list(summary(o.raw))
    with open(o.json, "w") as f:
        json.dump(results, f, indent=1)
        f.write("\n")
    table = rows(results)
    print_times(table)
    print_requests(table)
    print_counts(table)
    if o.compare:
        with open(o.compare) as f:
            print_changes(results, index(json.load(f)))


if __name__ == "__main__":
    main()
