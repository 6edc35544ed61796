#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Optional words of the table: counts, conflicts, repeats, letter case.
# Rows: V-04 V-20 V-21 V-22 V-23 V-24 V-25 V-26 V-27 V-28 V-41 X-07 X-08 X-09

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }
tables_start

test_count() {
    attach
    for v in 16 1 x -1 "" "2 ignore_zero_blocks" 1x; do
        [ -z "$v" ] || refused "Invalid number of feature args" EINVAL "$(vtable) $v"
    done
}
test_count_is_checked_first() {
    attach
    refused "Invalid number of feature args" EINVAL "$(version=7 vtable) 16"
    refused "Invalid number of feature args" EINVAL "$(data=/dev/none vtable) 1"
    # Words themselves are looked at after the positional arguments.
    refused "Invalid version" EINVAL "$(version=7 vtable nonsense)"
}
test_unknown() {
    attach
    refused "Unrecognized verity feature request" EINVAL "$(vtable nonsense)"
    refused "Unrecognized verity feature request" EINVAL \
        "$(vtable ignore_zero_blocks ignore_corruptio)"
    log_mark
    fails "Invalid argument" dm_create v "$(vtable nonsense)" --readonly
    log | grep -qxF "device-mapper: verity: Unrecognized verity feature request: nonsense"
}
test_conflicting_corruption_modes() {
    attach
    local modes=(ignore_corruption restart_on_corruption panic_on_corruption) a b
    for a in "${modes[@]}"; do
        for b in "${modes[@]}"; do
            refused "Conflicting error handling parameters" EINVAL "$(vtable "$a" "$b")"
        done
    done
}
test_conflicting_error_modes() {
    attach
    local modes=(restart_on_error panic_on_error) a b
    for a in "${modes[@]}"; do
        for b in "${modes[@]}"; do
            refused "Conflicting error handling parameters" EINVAL "$(vtable "$a" "$b")"
        done
    done
}
test_one_of_each_family() {
    attach
    vopen v panic_on_error restart_on_corruption
    [[ $(dm_table v) == *" 2 restart_on_corruption panic_on_error" ]]
}
test_repeats() {
    attach
    vopen v ignore_zero_blocks ignore_zero_blocks check_at_most_once check_at_most_once \
        try_verify_in_tasklet try_verify_in_tasklet
    [[ $(dm_table v) == *" 3 ignore_zero_blocks check_at_most_once try_verify_in_tasklet" ]]
}
test_letter_case() {
    attach
    vopen v IGNORE_Corruption Check_At_Most_Once TRY_verify_in_tasklet
    [[ $(dm_table v) == *" 3 ignore_corruption check_at_most_once try_verify_in_tasklet" ]]
}
test_words_after_the_counted() {
    attach
    dm_create v "$(vtable) 1 ignore_corruption nonsense 17" --readonly
    [[ $(dm_table v) == *" 1 ignore_corruption" ]]
}
test_zero_options() {
    attach
    dm_create v "$(vtable) 0" --readonly
    [[ $(dm_table v) == *" $SALT" ]]
}
test_zero_options_then_words() {
    attach
    dm_create v "$(vtable) 0 nonsense" --readonly
    [[ $(dm_table v) == *" $SALT" ]]
}

ksft_main "$@"
