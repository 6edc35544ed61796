#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The table line as the kernel prints it, and the limits of the device.
# Needs: integrity
# Rows: I-07 I-08 I-09 I-10 I-11 I-14 I-15 I-36 I-37 I-38 I-81 I-83 X-16

. "$(dirname "$0")/../lib/integrity.sh"

line() { # words after the tag size
    local n
    n=$(majmin "$L0")
    equal "$(dm_table i)" "0 $(sectors "$(dev i)") integrity $n 0 $1"
}
test_direct() {
    blank L0 24M
    iformat internal_hash:crc32c fix_padding fix_hmac
    iopen i internal_hash:crc32c buffer_sectors:9 journal_watermark:70
    line "4 D 5 interleave_sectors:32768 buffer_sectors:8 fix_padding fix_hmac internal_hash:crc32c"
    equal "$(dm_status i)" "0 $(sectors "$(dev i)") integrity 0 $(provided "$L0") -"
    dm_remove i
}
test_journal() {
    blank L0 24M
    mode=J iformat internal_hash:sha256 journal_sectors:1000 interleave_sectors:5000
    mode=J iopen i internal_hash:sha256 journal_watermark:70 commit_time:1234
    [[ $(dm_table i) == *" 0 32 J 6 interleave_sectors:4096 buffer_sectors:128 "* ]]
    [[ $(dm_table i) == *" journal_watermark:70 commit_time:1234 internal_hash:sha256" ]]
    dm_remove i
}
test_bitmap() {
    blank L0 24M
    mode=B iformat internal_hash:crc32c block_size:4096
    mode=B iopen i internal_hash:crc32c block_size:4096 sectors_per_bit:1000 \
        bitmap_flush_interval:333
    line "4 B 6 block_size:4096 interleave_sectors:32768 buffer_sectors:128 sectors_per_bit:512\
 bitmap_flush_interval:336 internal_hash:crc32c"
    equal "$(queue i logical_block_size)" 4096
    equal "$(queue i dma_alignment)" 4095
    equal "$(queue i write_cache)" "write back"
    dm_remove i
}
test_keys() {
    blank L0 24M
    local key
    key=$(printf '5a%.0s' {1..32})
    mode=J iformat "internal_hash:hmac(sha256):$key" "journal_mac:hmac(sha256):$key"
    mode=J iopen i "internal_hash:hmac(sha256):$key" "journal_mac:hmac(sha256):$key"
    dmsetup table --showkeys ksft-i |
        grep -qF " internal_hash:hmac(sha256):$key journal_mac:hmac(sha256):$key"
    dm_remove i
}
test_profile() {
    blank L0 24M
    tag=32 iformat
    tag=32 iopen i
    equal "$(cat "/sys/block/$(disk i)/integrity/format")" nop
    equal "$(cat "/sys/block/$(disk i)/integrity/tag_size")" 32
    dm_remove i
}
test_recalculate() {
    blank L0 24M
    iformat internal_hash:crc32c recalculate
    iopen i internal_hash:crc32c recalculate
    irecalculated i
    line "4 D 4 recalculate interleave_sectors:32768 buffer_sectors:128 internal_hash:crc32c"
    dm_remove i
    # The flag stays.
    iopen i internal_hash:crc32c
    line "4 D 4 recalculate interleave_sectors:32768 buffer_sectors:128 internal_hash:crc32c"
    dm_remove i
    iopen i internal_hash:crc32c reset_recalculate
    [[ $(dm_table i) == *" recalculate reset_recalculate "* ]]
    irecalculated i
    cat "$(dev i)" >/dev/null
    dm_remove i
}

ksft_main "$@"
