#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Reencryption that C's target has begun, ours ends, and the other way round.
# Rows: C-66 T-10
# Boot: --mem 768
# Time: 400
# Modules: rdm

. "$(dirname "$0")/../lib/luks2.sh"

setup() { echo -n ksft-passphrase >"$DIR/pw"; }

# One begins and is interrupted, the other ends it.
handed_over() { # other back
    volume
    timeout -s INT 2 cryptsetup reencrypt "${QUICK[@]}" --key-file "$DIR/pw" \
        --hotzone-size 64k "$L0" || say "interrupted"
    is_there "after the first part"
    volume_close
    "$1"
    volume_open
    is_there "when the other has opened it"
    reencrypt "$L0" || say "nothing was left to do"
    is_there "after the rest"
    volume_close
    "$2"
    volume_open
    is_there "when opened again"
    volume_close
}
test_begun_by_ours() {
    use_ours
    handed_over use_c use_ours
}
test_begun_by_c() {
    use_c
    handed_over use_ours use_c
    use_ours
}

ksft_main "$@"
