#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RAID1 of md on two volumes: damage on one is an error that md can repair from the other, when
# it is read and when md looks for it (case I18). The array is made by dm-raid, as LVM does; the
# code that repairs is md's.
# Rows: I-70
# Needs: integrity

. "$(dirname "$0")/../lib/volumes.sh"

array() { # mode
    local leg L
    for leg in a b; do
        L=$(empty "$leg" 8)
        tformat "$L" "$1" internal_hash:crc32c
        topen "$leg" "$L" "$1" internal_hash:crc32c
    done
    modprobe -a dm-raid raid1
    dm_create r "0 8192 raid raid1 2 0 nosync 2 - $(dev a) - $(dev b)"
    put_text "$(dev r)" 70 ksft-marker
    # Until the journal has been copied out, or the bit of the region is clear, nothing can be seen.
    for leg in a b; do
        dmsetup suspend "ksft-$leg"
        dmsetup resume "ksft-$leg"
    done
}
# Both legs have the same data again; reading them directly raises no error.
repaired() {
    local leg
    for leg in a b; do
        equal "$(text_at "$(dev $leg)" 70)" ksft-marker "leg $leg"
    done
}
by_reading() { # mode
    array "$1"
    flip "$DIR/a" "$(offset_of "$DIR/a" ksft-marker)"
    local _
    # md takes the leg that it likes: both have been asked after a few reads.
    for _ in 1 2 3 4 5 6 7 8; do
        equal "$(text_at "$(dev r)" 70)" ksft-marker "the array"
        [ "$(mismatches a)" = 0 ] || break
        read_direct "$(dev r)" 500
    done
    [ "$(mismatches a)" -ge 1 ]
    repaired
    equal "$(dm_status r | cut -d' ' -f6)" AA "state of the legs"
}
test_read_of_a_journal_volume() { by_reading J; }
test_read_of_a_bitmap_volume() { by_reading B; }
test_scrub() {
    local i
    array J
    flip "$DIR/b" "$(offset_of "$DIR/b" ksft-marker)"
    dmsetup message ksft-r 0 check
    for ((i = 0; i < 300; i++)); do
        sleep 0.1
        [ "$(mismatches b)" = 0 ] || [ "$(dm_status r | cut -d' ' -f8)" != idle ] || break
    done
    [ "$(mismatches b)" -ge 1 ] || fail "the damage was not noticed"
    repaired
    equal "$(dm_status r | cut -d' ' -f6)" AA "state of the legs"
}

ksft_main "$@"
