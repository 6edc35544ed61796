#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RAID1 of md on two volumes: damage on one is an error that md can repair from the other, when
# it is read and when md looks for it (case I18). A leg that cannot be repaired is left out, and
# built again on a new volume. The array is made by dm-raid, as LVM does; the code that repairs is
# md's.
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
legs() { dm_status r | cut -d' ' -f6; }
test_leg_that_fails_is_left_out_and_built_again() {
    local L i meta
    meta=("$(empty meta_a 4)" "$(empty meta_b 4)")
    L=$(empty lower 8)
    dm_create lower "0 16384 linear $L 0"
    L=$(empty a 8)
    for i in "a $L" "b $(dev lower)"; do
        tformat "${i#* }" J internal_hash:crc32c
        topen "${i% *}" "${i#* }" J internal_hash:crc32c
    done
    modprobe -a dm-raid raid1
    dm_create r "0 8192 raid raid1 2 0 nosync 2 ${meta[0]} $(dev a) ${meta[1]} $(dev b)"
    put_text "$(dev r)" 70 ksft-marker
    equal "$(legs)" AA "before the failure"
    dm_swap lower "0 16384 error"
    put_text "$(dev r)" 71 ksft-another
    # It is the journal that fails, some time after the write.
    for i in 1 2 3 4 5 6 7 8 9; do
        put_text "$(dev r)" 72 ksft-more
        [ "$(legs)" = AA ] || break
        sleep 0.1
    done
    equal "$(legs)" AD "after the failure"
    equal "$(text_at "$(dev r)" 70)$(text_at "$(dev r)" 71)" ksft-markerksft-anothe "with one leg"
    dm_remove r
    dm_remove b
    dm_remove lower
    L=$(empty lower 8)
    tformat "$L" J internal_hash:crc32c
    topen b "$L" J internal_hash:crc32c
    dm_create r "0 8192 raid raid1 3 0 rebuild 1 2 ${meta[0]} $(dev a) ${meta[1]} $(dev b)"
    for ((i = 0; i < 300; i++)); do
        [ "$(legs)" != AA ] || break
        sleep 0.1
    done
    equal "$(legs)" AA "after it was built again"
    equal "$(text_at "$(dev b)" 70)$(text_at "$(dev b)" 71)" ksft-markerksft-anothe "the new leg"
    equal "$(bad_sectors "$(dev b)")" "" "sectors of the new leg that cannot be read"
}

ksft_main "$@"
