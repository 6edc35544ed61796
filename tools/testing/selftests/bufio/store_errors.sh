#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A write that fails is reported by the next call that writes everything, once; what is
# still in the cache is tried again. A read that fails is reported to who needs it.
# Rows: B-03 B-13 B-35
# Modules: rdm

. "$(dirname "$0")/../lib/bufio.sh"
setup() { image $((1 << 20)); }

# The block 17 of 4096 bytes is bad.
bad() {
    echo "0 136 linear $L0 0"
    echo "136 8 error"
    echo "144 1904 linear $L0 144"
}
begin() {
    need_target
    attach
    dm_create und "$(bad)"
    screate t "$(dev und)" 4096 2
}
repair() { dm_swap und "0 2048 linear $L0 0"; }
EIO=5

test_reported_once() {
    begin
    steps t f:17:0:4096 f:18:0:4096 "S!$EIO"
    # The neighbour is not hurt.
    equal "$(lower_bytes $((18 * 4096)) 8)" "$(filled 18 8)"
    # It can go now, and nobody asks for it any more.
    steps t g:17:1 S S
}
test_tried_again() {
    begin
    steps t f:17:0:4096 "S!$EIO" "S!$EIO"
    repair
    steps t S
    equal "$(lower_bytes $((17 * 4096)) 8)" "$(filled 17 8)"
    steps t S
}
test_changed_again() {
    begin
    steps t f:17:0:512 f:17:1024:512 "S!$EIO"
    repair
    # What failed goes out with what comes later.
    steps t f:17:2048:512 s S
    for at in 0 1024 2048; do
        equal "$(lower_bytes $((17 * 4096 + at)) 512)" "$(filled 17 512)"
    done
}
test_in_the_background() {
    begin
    steps t f:17:0:4096 s
    sleep 1
    steps t "S!$EIO" g:17:1 S
}
test_what_is_missing_cannot_be_read() {
    begin
    steps t "r:17@0!$EIO" f:17:0:32 "c:17:64:32!$EIO" "r:17@0!$EIO" "S!$EIO"
    # The bytes that were written are there.
    steps t w:17:64:32 c:17:64:32
    repair
    steps t S c:17:64:32
    equal "$(lower_bytes $((17 * 4096)) 32)" "$(filled 17 32)"
}
# Of many blocks that lack something, one cannot be read: the others are not hurt.
test_one_of_many_cannot_be_filled() {
    begin
    cp "$DIR/data" "$DIR/copy"
    local block
    # shellcheck disable=SC2046
    steps t $(seq -f f:%.0f:100:32 10 25) "S!$EIO"
    for block in 10 16 18 25; do
        equal "$(lower_bytes $((block * 4096 + 100)) 32)" "$(filled $block 32)"
        cmp -n 100 "$DIR/data" "$DIR/copy" $((block * 4096)) $((block * 4096))
        cmp -n 300 "$DIR/data" "$DIR/copy" $((block * 4096 + 132)) $((block * 4096 + 132))
    done
    cmp -n 4096 "$DIR/data" "$DIR/copy" $((17 * 4096)) $((17 * 4096))
    repair
    steps t S
    equal "$(lower_bytes $((17 * 4096 + 100)) 32)" "$(filled 17 32)"
    cmp -n 100 "$DIR/data" "$DIR/copy" $((17 * 4096)) $((17 * 4096))
}
test_too_many_places_to_keep() {
    begin
    steps t f:17:0:32 f:17:64:32 f:17:128:32 f:17:192:32 f:17:256:32 f:17:320:32 \
        "f:17:384:32!$EIO" f:17:0:384
    repair
    steps t f:17:448:32 f:17:512:32 S
}
test_the_last_chance() {
    begin
    steps t f:17:0:4096 f:18:0:4096
    log_mark
    dm_remove t
    log_has "bufio: blocks could not be written"
    equal "$(lower_bytes $((18 * 4096)) 8)" "$(filled 18 8)"
    equal "$(current)" 0 "bytes in use"
}
test_beyond_the_end() {
    begin
    steps t "r:256@0!$EIO" f:300:0:512 "S!$EIO" "f:1:4000:100!22" "w:1:4096:1!22"
}

bufio_main "$@"
