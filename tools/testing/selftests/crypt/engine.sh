#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ciphers that work asynchronously, by the simulated engine of the module test_engine.
# Rows: C-12 C-59
# Time: 240

. "$(dirname "$0")/../lib/engine.sh"

engine_main "$@"
