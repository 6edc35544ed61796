#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tables that are refused, with the text and the errno of C.
# Needs: integrity
# Rows: I-01 I-02 I-03 I-04 I-05 I-06 I-10 I-13 I-16 I-18 I-19 I-23 I-24 I-26 I-27 I-30 I-31 I-33
# Rows: I-34 X-04 X-09

. "$(dirname "$0")/../lib/integrity.sh"
H=internal_hash:crc32c
KEY=$(printf '5a%.0s' {1..32})
HMAC="internal_hash:hmac(sha256):$KEY"

test_arguments() {
    blank L0 16M
    irefused "Invalid argument count" EINVAL "0 8 integrity $L0 0 - D"
    irefused "Device lookup failed" ENOENT "$(device=/dev/none itable $H)"
    irefused "Invalid starting offset" EINVAL "$(start=0x1 itable $H)"
    irefused "Invalid tag size" EINVAL "$(tag=0 itable $H)"
    irefused "Unknown tag size" EINVAL "$(itable buffer_sectors:8)"
    irefused "Too big tag size" EINVAL "$(tag=256 itable $H)"
    irefused "Invalid mode \(expecting J, B, D, R, I\)" EINVAL "$(mode=d itable $H)"
    irefused "Invalid number of feature args" EINVAL "0 8 integrity $L0 0 - D 2 $H"
    irefused "Invalid number of feature args" EINVAL "0 8 integrity $L0 0 - D 19 $H"
}
test_options() {
    blank L0 16M
    irefused "Invalid argument" EINVAL "$(itable $H unknown)"
    irefused "Invalid argument" EINVAL "$(itable $H Recalculate)"
    irefused "Invalid argument" EINVAL "$(itable $H journal_watermark:101)"
    irefused "Invalid argument" EINVAL "$(itable $H buffer_sectors:1x)"
    irefused "Invalid block_size argument" EINVAL "$(itable $H block_size:8192)"
    irefused "Device lookup failed" ENOENT "$(itable $H meta_device:/dev/none)"
    irefused "Invalid internal_hash argument" EINVAL "$(itable $H:123)"
    irefused "Invalid internal hash" ENOENT "$(itable internal_hash:none)"
    irefused "Error setting internal hash key" ENOKEY "$(itable 'internal_hash:hmac(sha256)')"
    irefused "Invalid journal mac" ENOENT "$(itable $H journal_mac:none)"
    irefused "Bitmap mode can be only used with internal hash" EINVAL "$(tag=4 mode=B itable)"
    irefused "Discard can be only used with internal hash" EINVAL "$(tag=4 itable allow_discards)"
    irefused "Keyed discard can only be used with keyed internal hash" EINVAL \
        "$(itable $H allow_discards_keyed)"
    irefused "Recalculate can only be specified with internal_hash" EINVAL \
        "$(tag=4 itable recalculate)"
}
test_superblock() {
    blank L0 16M
    echo something | dd of="$L0" seek=3 bs=512 conv=notrunc status=none
    irefused "The device is not initialized" EINVAL "$(itable $H)"
    blank L0 16M
    iformat $H
    irefused "Tag size doesn't match the information in superblock" EINVAL "$(tag=8 itable $H)"
    irefused "Block size doesn't match the information in superblock" EINVAL \
        "$(itable $H block_size:4096)"
    irefused "Journal mac mismatch" EINVAL "$(itable $H "journal_mac:hmac(sha256):$KEY")"
    irefused "Not enough provided sectors for requested mapping size" EINVAL \
        "$(length=$(sectors "$L0") itable $H)"
    blank L0 16M
    iformat "$HMAC" "journal_mac:hmac(sha256):$KEY"
    irefused "fix_hmac is on the command line but not in the superblock" EINVAL \
        "$(itable "$HMAC" fix_hmac "journal_mac:hmac(sha256):$KEY")"
    blank L0 8K
    irefused "Could not initialize superblock" EINVAL "$(itable $H)"
}
test_hmac_recalculation() {
    blank L0 16M
    irefused "Recalculating with HMAC is disabled for security reasons.*" EOPNOTSUPP \
        "$(itable "$HMAC" recalculate)"
    blank L0 16M
    iformat "$HMAC" recalculate legacy_recalculate
}

ksft_main "$@"
