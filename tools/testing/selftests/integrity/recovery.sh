#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A wrong tag is EILSEQ to direct I/O and EIO to others, is counted, and recovery mode gets the
# data out, without writing anything (case I18).
# Rows: I-36 I-67 I-70 I-73
# Needs: integrity

. "$(dirname "$0")/../lib/volumes.sh"

EILSEQ="Invalid or incomplete multibyte or wide character"
damaged() { # damages block 5
    L=$(empty d 6)
    iformat "$L" --sector-size 4096
    iopen "$L" v
    put_text "$(dev v)" 5 ksft-marker
    iclose v
    flip "$DIR/d" "$(offset_of "$DIR/d" ksft-marker)"
}
test_damage() {
    damaged
    iopen "$L" v
    log_mark
    fails "$EILSEQ" read_direct "$(dev v)" 5
    log_has "Checksum failed at sector 0x28$"
    equal "$(mismatches v)" 1 mismatches
    fails "Input/output error" dd if="$(dev v)" of=/dev/null bs=4096 skip=5 count=1
    read_direct "$(dev v)" 4
    read_direct "$(dev v)" 6
    # Written again, it is good again.
    dd if=/dev/zero of="$(dev v)" bs=4096 seek=5 count=1 oflag=direct status=none
    read_direct "$(dev v)" 5
}
test_never_written() {
    L=$(empty d 6)
    iformat "$L" --no-wipe
    iopen "$L" v
    fails "$EILSEQ" read_direct "$(dev v)" 0
}
test_recovery_mode() {
    damaged
    local before
    before=$(sum "$DIR/d")
    iopen "$L" v --integrity-recovery-mode
    equal "$(text_at "$(dev v)" 5)" "*sft-marker" "damaged data"
    fails "Input/output error" dd if=/dev/zero of="$(dev v)" bs=4096 count=1 oflag=direct
    iclose v
    equal "$(sum "$DIR/d")" "$before" "the disk after recovery mode"
}
# The journal of a volume that was not closed is not replayed.
test_recovery_mode_after_a_crash() {
    L=$(empty d 6)
    # More than one section, or the data does not stay in it.
    iformat "$L" --journal-size 800K
    iopen "$L" v
    put_text "$(dev v)" 5 ksft-marker
    cp "$DIR/d" "$DIR/copy"
    iclose v
    L=$(loop "$DIR/copy")
    local before
    before=$(sum "$DIR/copy")
    iopen "$L" v --integrity-recovery-mode
    equal "$(text_at "$(dev v)" 5)" "..........."
    iclose v
    equal "$(sum "$DIR/copy")" "$before" "the disk after recovery mode"
    iopen "$L" v
    equal "$(text_at "$(dev v)" 5)" ksft-marker "after the replay"
}

ksft_main "$@"
