#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Bitmap mode reports damage also right after a volume was made and recalculated (case I15).
# Rows: I-36 I-66 I-70 I-71
# Needs: integrity

. "$(dirname "$0")/../lib/volumes.sh"

test_damage_is_seen() {
    L=$(empty d 6)
    iformat "$L" --no-wipe --sector-size 4096
    iopen "$L" v --integrity-bitmap-mode --bitmap-flush-time 500 --integrity-recalculate
    recalculated v
    put_text "$(dev v)" 100 ksft-marker
    read_direct "$(dev v)" 100
    # Until the bit is cleared, the region counts as being written.
    sleep 1.5
    flip "$DIR/d" "$(offset_of "$DIR/d" ksft-marker)"
    log_mark
    fails "Invalid or incomplete multibyte or wide character" read_direct "$(dev v)" 100
    log_has "Checksum failed at sector 0x320"
    sleep 1
    fails "Invalid or incomplete multibyte or wide character" read_direct "$(dev v)" 100
    equal "$(mismatches v)" 2 mismatches
}

ksft_main "$@"
