#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Journal mode: after a crash at any flush or FUA write, and with any part of what was written
# without a flush, all that was reported as done is there, no block is torn, and no read fails.
# The volume is opened by C and by ours.
# Rows: I-60 I-61 I-62 I-63 I-64 I-78
# Needs: integrity
# Time: 300

. "$(dirname "$0")/../lib/volumes.sh"

test_checker_finds_losses() {
    log_load J internal_hash:crc32c 10
    fails "lost" log_check 4 --forget
}
test_sectors() {
    log_load J "internal_hash:crc32c journal_sectors:1056" 60
    log_check 30
}
test_blocks_and_commits_by_time() {
    log_load J "internal_hash:crc32c journal_sectors:1600 block_size:4096 commit_time:20" 30
    log_check 15
}
test_journal_mac_and_long_tags() {
    log_load J "internal_hash:sha256 journal_mac:hmac(sha256):00112233 fix_hmac fix_padding" 20
    log_check 9
}

both_main "$@"
