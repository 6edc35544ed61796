#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A verity table stands alone in its device, and only verity may replace it.
# Rows: V-61; case V10

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }

two() { # first second
    printf '%s\n%s\n' "$1" "$2" >"$DIR/table"
    dmsetup create ksft-v --readonly <"$DIR/table"
}
test_two_verity_tables() {
    attach
    log_mark
    fails "Invalid argument" two "$(vtable)" "$(vtable | sed 's/^0 /4096 /')"
    log_has "device-mapper: table: 253:[0-9]+: target type $T must appear alone in table$"
}
test_after_linear() {
    attach
    log_mark
    fails "Invalid argument" two "0 4096 linear $L0 0" "$(vtable | sed 's/^0 /4096 /')"
    log_has "table: 253:[0-9]+: $T: singleton target type must appear alone in table \(-EINVAL\)$"
}
test_before_linear() {
    attach
    log_mark
    fails "Invalid argument" two "$(vtable)" "4096 4096 linear $L0 0"
    log_has "device-mapper: table: 253:[0-9]+: target type $T must appear alone in table$"
}
test_replace_by_linear() {
    attach
    vopen v
    local before
    before=$(dm_table v)
    dmsetup suspend ksft-v
    log_mark
    fails "Invalid argument" dmsetup reload ksft-v --readonly --table "0 4096 linear $L0 0"
    log_has "device-mapper: ioctl: can't replace immutable target type $T$"
    # Only the error target may take any place, as it lets nothing through.
    dmsetup reload ksft-v --readonly --table "0 4096 error"
    dmsetup clear ksft-v
    dmsetup resume ksft-v
    equal "$(dm_table v)" "$before"
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}
test_replace_by_verity() {
    attach
    vopen v
    dm_swap v "$(vtable ignore_corruption)" --readonly
    [[ $(dm_table v) == *" 1 ignore_corruption" ]]
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}
# A table that was loaded and never used goes away without a trace.
test_reload_then_clear() {
    attach
    vopen v
    dmsetup reload ksft-v --readonly --table "$(vtable ignore_corruption)"
    equal "$(cat "/sys/module/$VERITY_MODULE/refcnt")" 2
    dmsetup clear ksft-v
    equal "$(cat "/sys/module/$VERITY_MODULE/refcnt")" 1
    [[ $(dm_table v) == *" $SALT" ]]
}
test_failed_reload_keeps_the_table() {
    attach
    vopen v
    fails "Invalid argument" dmsetup reload ksft-v --readonly --table "$(root=00 vtable)"
    equal "$(cat "/sys/module/$VERITY_MODULE/refcnt")" 1
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}

ksft_main "$@"
