#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Parses Documentation/*.rst, and checks that what the pages name is there. In the build root."""

import glob
import io
import os
import re
import sys

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles

PAGES = {os.path.basename(p)[:-4]: p for p in glob.glob("Documentation/*.rst")}
# Paths in the text which a reader may want to open.
PATH = re.compile(r"``((?:scripts|tools|rust|drivers|Documentation)/[\w./-]+)``")

found = []


class Toctree(Directive):
    """Sphinx's list of pages."""

    has_content = True
    option_spec = {"maxdepth": directives.nonnegative_int}

    def run(self):
        Toctree.named = {line.strip() for line in self.content if line.strip()}
        return []


def page_role(name, rawtext, text, lineno, inliner, options=None, content=None):
    if text not in PAGES:
        found.append(f"{inliner.document.current_source}:{lineno}: no page '{text}'")
    return [nodes.literal(rawtext, text)], []


def main():
    directives.register_directive("toctree", Toctree)
    roles.register_local_role("doc", page_role)
    for path in PAGES.values():
        with open(path, encoding="utf-8") as f:
            text = f.read()
        wrong = io.StringIO()
        publish_doctree(text, source_path=path, settings_overrides={
            "report_level": 1, "halt_level": 5, "warning_stream": wrong})
        found.extend(wrong.getvalue().splitlines())
        found.extend(f"{path}: no {name} in the tree"
                     for name in PATH.findall(text) if not os.path.exists(name))
    found.extend(f"Documentation/index.rst does not list {name}"
                 for name in set(PAGES) - Toctree.named - {"index"})
    print("\n".join(found), end="\n" if found else "")
    return 1 if found or len(PAGES) < 2 else 0


sys.exit(main())
