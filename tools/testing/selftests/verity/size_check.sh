#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Device sizes that dm core checks after the constructor; a table shorter than the
# data; length zero.
# Rows: V-11 V-63 X-15

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_data_device_too_short() {
    attach
    truncate -s 1M "$DIR/d"
    losetup -c "$L0"
    log_mark
    fails "Invalid argument" vopen v
    log_has "device-mapper: table: 253:[0-9]+: ${L0#/dev/} too small for target: \
start=0, len=4096, dev_size=2048$"
    ! dmsetup info ksft-v
}
test_shorter_table() {
    attach
    length=8 vopen v
    equal "$(sectors "$(dev v)")" 8
    equal "$(sum "$(dev v)")" "$(head -c 4096 "$DIR/data" | sha256sum | cut -c1-64)"
}
# Only what the table maps must be there.
test_shorter_table_on_short_device() {
    attach
    truncate -s 1M "$DIR/d"
    losetup -c "$L0"
    length=2048 vopen v
    equal "$(sum "$(dev v)")" "$(head -c 1M "$DIR/data" | sha256sum | cut -c1-64)"
}
test_length_not_in_blocks() {
    attach
    fails "Invalid argument" eval 'length=9 vopen v'
}
test_larger_data_device() {
    attach
    truncate -s 16M "$DIR/d"
    losetup -c "$L0"
    vopen v
    equal "$(sectors "$(dev v)")" 4096
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}

ksft_main "$@"
