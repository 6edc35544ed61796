#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What status and table print.
# Rows: V-13 V-16 V-42 V-43 X-11

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_info() {
    attach
    vopen v
    equal "$(dm_status v)" "0 4096 $T V -"
}
test_plain() {
    attach
    vopen v
    equal "$(dm_table v)" "$(small_table)"
}
test_no_salt() {
    attach
    salt=- vopen v
    equal "$(dm_table v)" "$(salt=- small_table)"
}
test_order_of_options() {
    attach
    vopen v try_verify_in_tasklet check_at_most_once panic_on_error ignore_zero_blocks \
        ignore_corruption
    equal "$(dm_table v)" "$(small_table) 5 ignore_corruption panic_on_error ignore_zero_blocks \
check_at_most_once try_verify_in_tasklet"
}
test_each_option() {
    attach
    for o in ignore_corruption restart_on_corruption panic_on_corruption restart_on_error \
        panic_on_error ignore_zero_blocks check_at_most_once try_verify_in_tasklet; do
        vopen v "$o"
        [[ $(dm_table v) == *" $SALT 1 $o" ]]
        dm_remove v
    done
}
# The table that is printed makes the same device.
test_round_trip() {
    attach
    vopen v check_at_most_once ignore_zero_blocks
    local table
    table=$(dm_table v)
    dm_remove v
    dm_create v "$table" --readonly
    equal "$(dm_table v)" "$table"
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}
# Salts have no limit in the kernel; user space comes again with a larger buffer.
test_long_salt() {
    attach
    local salt
    salt=$(head -c 20000 /dev/zero | tr '\0' a)
    vopen v check_at_most_once
    [[ $(dm_table v) == *" $salt 1 check_at_most_once" ]]
}
# The name is echoed as it was given, whatever the kernel calls the driver.
test_algorithm_name() {
    attach
    local name
    for name in sha256-generic sha256-lib sha256-ni sha256-avx2; do
        grep -q "driver *: $name$" /proc/crypto || continue
        alg=$name vopen v
        [[ $(dm_table v) == *" $name $ROOT"* ]]
        equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
        return
    done
    skip "no driver name of sha256 in /proc/crypto"
}
test_corruption_stays_in_the_status() {
    attach
    flip "$DIR/d" 8192
    vopen v
    fails "Input/output error" read_direct "$(dev v)" 2
    equal "$(dm_status v)" "0 4096 $T C -"
    flip "$DIR/d" 8192
    drop_caches
    read_direct "$(dev v)" 2
    equal "$(dm_status v)" "0 4096 $T C -"
}

ksft_main "$@"
