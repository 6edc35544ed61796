#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Bitmap mode: after a crash, and after what is marked was recalculated, all that was reported
# as done is there and no read fails. Direct mode: so it is, but for the blocks that were being
# written, whose tags may be older or newer than they are.
# Rows: I-57 I-65 I-66
# Needs: integrity
# Time: 300

. "$(dirname "$0")/../lib/volumes.sh"

test_bitmap() {
    log_load B "internal_hash:crc32c sectors_per_bit:64 bitmap_flush_interval:100" 80
    log_check 24
}
test_bitmap_blocks() {
    log_load B "internal_hash:crc32c block_size:4096 bitmap_flush_interval:100" 60
    log_check 12
}
test_direct() {
    log_load D "internal_hash:crc32c" 60
    log_check 18
}
# What direct mode does not promise must be seen where it is not promised.
test_direct_is_not_a_journal() {
    log_load D "internal_hash:crc32c" 60
    sed -i 's/"mode": "D"/"mode": "J"/' "$DIR/job"
    fails "checksum error" log_check 20
}

both_main "$@"
