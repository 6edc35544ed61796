#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The rules of this tree that no other tool knows. Reads file names, NUL-separated.

What clippy can see it is asked for in scripts/lint: code that panics, and `unsafe`
without a SAFETY comment.
"""

import re
import sys

MAX_LINES, MAX_LENGTH = 500, 100

# Files that are not ours, or that a tool writes, or that have no comments.
FOREIGN = re.compile(r"^(LICENSES/.*|.*Cargo\.lock)$|(^|/)corpus/|\.(svg|png|json)$")

CRATE_ROOT = re.compile(r"^drivers/md/(\w+)/\1\.rs$")
PANIC_LINTS = re.compile(
    r"allow\([^)]*clippy::(unwrap_used|expect_used|panic|todo|unimplemented|unreachable|"
    r"indexing_slicing|string_slice|arithmetic_side_effects)")

# Paths that exist on one machine only, and hosts that nobody has to know.
OWN_PATH = re.compile(r"(?<![\w.$}*-])/(home|Users|w[o]rk|workspace|scratch)/\w")
HOST = re.compile(r"\b(?:https?|git|ftp)://([\w.-]+)")
KNOWN_HOST = re.compile(
    r"(^|\.)(kernel\.org|debian\.org|spdx\.org|rust-lang\.org|rust-for-linux\.com|"
    r"rust-lang\.github\.io|w3\.org|editorconfig\.org|testanything\.org)$")


def whole_file(name, text, lines):
    """The rules about a file as a whole."""
    if "SPDX-License-Identifier: GPL-2.0" not in "\n".join(lines[:5]):
        yield 1, "no line 'SPDX-License-Identifier: GPL-2.0' among the first five"
    if len(lines) > MAX_LINES:
        yield MAX_LINES + 1, f"{len(lines)} lines: split the file, {MAX_LINES} are the limit"
    if text and not text.endswith("\n"):
        yield len(lines), "no newline at the end"
    if CRATE_ROOT.match(name) and "#![forbid(unsafe_code)]" not in lines:
        yield 1, "the root of a target must say #![forbid(unsafe_code)]"


def each_line(name, line):
    """The rules about a line, with what they say."""
    # The row of a table in Markdown cannot be broken.
    whole = "://" in line or (name.endswith(".md") and line.startswith("|"))
    if len(line) > MAX_LENGTH and not whole:
        yield f"{len(line)} columns, {MAX_LENGTH} are the limit"
    if line != line.rstrip():
        yield "blanks at the end"
    if OWN_PATH.search(line):
        yield "a path that exists on one machine only"
    for host in HOST.findall(line):
        if not KNOWN_HOST.search(host):
            yield f"a host that is not on the list in {sys.argv[0]}: {host}"
    if not name.endswith(".rs"):
        return
    code = line.split("//")[0]
    if name.startswith("drivers/md/") and re.search(r"\bunsafe\b", code):
        yield "unsafe code outside of the dm crate"
    if name.startswith(("drivers/", "rust/dm/")) and PANIC_LINTS.search(code):
        if "bindings.rs" not in name:
            yield "the lints of code that panics are not to be allowed"


def violations(name):
    with open(name, encoding="utf-8") as f:
        text = f.read()
    lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
    yield from whole_file(name, text, lines)
    for number, line in enumerate(lines, 1):
        for what in each_line(name, line):
            yield number, what


def main():
    names = [n for n in sys.stdin.read().split("\0") if n and not FOREIGN.search(n)]
    found = [f"{name}:{number}: {what}" for name in names for number, what in violations(name)]
    print("\n".join(found), end="\n" if found else "")
    if not names:
        print("house rules: no files to look at")
    return 1 if found or not names else 0


sys.exit(main())
