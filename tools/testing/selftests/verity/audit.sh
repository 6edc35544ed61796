#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Audit records: of each table that is made or not, and of bad blocks.
# Rows: V-57 X-17 V-55

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }
EVENT="^1339 audit\([0-9.:]*\): module=verity op="
CTRL="^1338 audit\([0-9.:]*\): module=verity op="
records() { grep -c -- "$1" "$DIR/audit" || :; }

test_table_comes_and_goes() {
    local dev
    attach
    helper_start audit
    vopen v
    dev=$(majmin "$(dev v)")
    audited "${CTRL}ctr ppid=.* comm=\"dmsetup\" .* dev=$dev error_msg='success' res=1$"
    equal "$(records " op=dtr ")" 0
    dm_remove v
    audited "${CTRL}dtr ppid=.* dev=$dev error_msg='success' res=1$"
    helper_stop
    equal "$(records "^1338 ")" 2
}
# A constructor that fails ends in the destructor.
test_refused_table() {
    attach
    helper_start audit
    fails "Invalid argument" dmsetup create ksft-v --readonly --table "$(version=2 vtable)"
    audited "${CTRL}ctr ppid=.* dev=[0-9]+:[0-9]+ error_msg='Invalid version' res=0$"
    audited "${CTRL}dtr ppid=.* error_msg='success' res=1$"
    helper_stop
    equal "$(sed -n 's/^1338 .* op=\([a-z]*\) .*/\1/p' "$DIR/audit" | xargs)" "ctr dtr"
}
# The device is that whose data was read, and the sector the number of a block.
test_bad_data() {
    attach
    flip "$DIR/d" $((7 * 4096))
    vopen v
    helper_start audit
    fails "Input/output error" read_direct "$(dev v)" 7
    audited "${EVENT}verify-data dev=$(majmin "$L0") sector=7 res=0$"
    helper_stop
    equal "$(records "^1339 ")" 1
}
# That is the block that somebody wanted, not the bad one.
test_bad_hash() {
    attach
    flip "$DIR/h" $((4 * 512))
    vopen v
    helper_start audit
    fails "Input/output error" read_direct "$(dev v)" 3
    audited "${EVENT}verify-metadata dev=$(majmin "$L0") sector=3 res=0$"
    helper_stop
    equal "$(records "^1339 ")" 1
}
# What is ignored is no event, but its end is.
test_reports_end() {
    attach
    dd if=/dev/zero of="$DIR/d" bs=4096 count=101 conv=notrunc status=none
    vopen v ignore_corruption
    helper_start audit
    read_direct "$(dev v)" 0 4096 101
    audited "${EVENT}max-corrupted-errors dev=$(majmin "$(dev v)") sector=\? res=0$"
    helper_stop
    equal "$(records "^1339 ")" 1
}

ksft_main "$@"
