#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Draws results as SVG: bars in per cent of what C needs, with the figures beside them."""

import argparse
import json
from xml.sax.saxutils import escape

import report

LEFT, WIDTH, RIGHT, BAR, GAP, TOP = 310, 520, 150, 14, 12, 60
COLOURS = {"device": "#b8b8b8", "hash": "#7fa7d1", "c": "#4c4c4c", "rust": "#d1702a"}


class Drawing:
    def __init__(self, title, legend):
        self.parts, self.y, self.title, self.legend = [], TOP, title, legend

    def text(self, x, y, text, anchor="start", size=12):
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
            f"{escape(text)}</text>"
        )

    def bar(self, x, width, colour):
        self.parts.append(
            f'<rect x="{LEFT + x * WIDTH:.1f}" y="{self.y}" width="{max(width, 0) * WIDTH:.1f}" '
            f'height="{BAR}" fill="{COLOURS[colour]}"/>'
        )

    def row(self, stack, label):
        """Parts of a bar, each a share of the whole width and a colour."""
        x = 0
        for share, colour in stack:
            self.bar(x, share, colour)
            x += share
        self.text(LEFT + x * WIDTH + 6, self.y + BAR - 3, label, size=11)
        self.y += BAR + 1

    def group(self, name):
        self.text(LEFT - 8, self.y + BAR, name, "end")

    def save(self, path):
        if not self.parts:
            return
        x = LEFT
        self.text(10, 22, self.title, size=15)
        for colour, name in self.legend:
            self.parts.append(
                f'<rect x="{x}" y="34" width="12" height="12" fill="{COLOURS[colour]}"/>'
            )
            self.text(x + 17, 44, name, size=11)
            x += 40 + 7 * len(name)
        size = f'width="{LEFT + WIDTH + RIGHT}" height="{self.y + 10}"'
        with open(path, "w") as f:
            f.write(
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">\n'
                '<rect width="100%" height="100%" fill="white"/>\n'
            )
            f.write("\n".join(self.parts) + "\n</svg>\n")


def times(table, path):
    d = Drawing(
        "Time of a read, in per cent of C's",
        [
            ("device", "device alone"),
            ("hash", "hashing alone"),
            ("c", "what C adds"),
            ("rust", "what Rust adds"),
        ],
    )
    for (workload, method, unit), row in table.items():
        if unit != "us" or method != "icount" or "c" not in row:
            continue
        d.group(workload)
        whole = max(row[i]["value"] for i in ("c", "rust") if i in row)
        for impl in ("c", "rust"):
            if impl not in row:
                continue
            value, rest = row[impl]["value"], report.overhead(row, impl)
            stack = (
                [(value / whole, impl)]
                if rest is None
                else [
                    *((row[k]["value"] / whole, k) for k in ("device", "hash")),
                    (rest / whole, impl),
                ]
            )
            d.row(stack, f"{impl} {value:.1f} µs, {100 * value / row['c']['value']:.0f} %")
        d.y += GAP
    d.save(path)


def counts(table, path):
    d = Drawing("Counts, in per cent of C's", [("c", "C"), ("rust", "Rust")])
    for (workload, method, unit), row in table.items():
        if unit == "us" or not row.get("c", {}).get("value"):
            continue
        d.group(f"{workload}, {method.removeprefix('count-')} {unit}")
        whole = max(row[i]["value"] for i in ("c", "rust") if i in row)
        for impl in ("c", "rust"):
            if impl in row:
                value = row[impl]["value"]
                d.row(
                    [(value / whole, impl)],
                    f"{impl} {value:.0f}, {100 * value / row['c']['value']:.0f} %",
                )
        d.y += GAP
    d.save(path)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("results")
    p.add_argument("directory")
    o = p.parse_args()
    with open(o.results) as f:
        table = report.rows(json.load(f))
    times(table, f"{o.directory}/times.svg")
    counts(table, f"{o.directory}/counts.svg")


main()
