#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Numbers keep only the bits their format has room for; hex has either case.
# Rows: X-06 X-10 V-15 V-16

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

test_low_32_bits() {
    attach
    dbs=4294971392 hbs=4294967808 version=4294967297 vopen v
    equal "$(dm_table v)" "$(small_table)"
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}
test_leading_zeros() {
    attach
    dbs=04096 hbs=0000512 start=01 blocks=000512 vopen v
    equal "$(dm_table v)" "$(small_table)"
}
test_hex_in_upper_case() {
    attach
    root=${ROOT^^} salt=00112233 vopen v
    [[ $(dm_table v) == *" $ROOT 00112233" ]]
    dm_remove v
    salt=AABBccDD vopen v
    [[ $(dm_table v) == *" aabbccdd" ]]
}

ksft_main "$@"
