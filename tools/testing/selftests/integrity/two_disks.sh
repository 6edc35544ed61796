#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tags and journal on a disk of their own, and a power cut that makes both disks forget what was
# not flushed: what was reported is there, and its tags fit (case I08).
# Rows: I-12 I-63 I-65 I-66
# Needs: integrity
# Time: 200

. "$(dirname "$0")/../lib/volumes.sh"

cuts() { # mode options [option of the checker]
    local name points=(--points 8)
    [ -z "$LONG" ] || points=()
    for name in data data.log meta meta.log; do
        case $name in *.log) empty $name 100 ;; *) empty $name 4 ;; esac >"$DIR/loop.$name"
    done
    python3 -B "$KSFT_LIB/two_disks.py" load --dir "$DIR" \
        --device "$(cat "$DIR/loop.data"),$(cat "$DIR/loop.meta")" \
        --log-device "$(cat "$DIR/loop.data.log"),$(cat "$DIR/loop.meta.log")" \
        --target "$I" --targets "$TARGETS" --mode "$1" --operations "${LONG:+10}60" \
        --options "internal_hash:crc32c $2" "${points[@]}" "${@:3}"
}
test_journal() { cuts J journal_sectors:1056; }
test_bitmap() { cuts B "sectors_per_bit:64 bitmap_flush_interval:100"; }
test_direct() { cuts D ""; }
test_checker_finds_losses() { fails "lost" cuts J journal_sectors:1056 --forget; }

both_main "$@"
