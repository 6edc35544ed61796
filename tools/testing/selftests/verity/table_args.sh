#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each positional argument of the table: what is refused, with which text and
# errno, and that nothing stays behind.
# Not here, since no table of a stock kernel comes to it: "Digest size too big" and "Too many tree
# levels". They need digests of more than 256 and of more than 128 bytes, the longest has 64. See
# the tests on the host.
# Rows: V-02 V-03 V-05 V-08 V-09 V-10 V-11 V-12 V-13 V-15 V-16 V-18 X-04

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }
tables_start

test_writable_table() {
    attach
    refused "Device must be readonly" EINVAL "$(vtable)" rw
    # Before the argument count.
    refused "Device must be readonly" EINVAL "0 8 $T" rw
}
test_argument_count() {
    attach
    local words n
    read -r -a words <<<"$(vtable)"
    for n in 3 4 8 12; do
        refused "Not enough arguments" EINVAL "${words[*]:0:$n}"
    done
}
test_version() {
    attach
    for v in 2 -1 +1 0x1 1x 4294967298; do
        refused "Invalid version" EINVAL "$(version=$v vtable)"
    done
}
test_data_block_size() {
    attach
    for v in 0 256 513 1000 8192 4096x -512 99999999999; do
        refused "Invalid data device block size" EINVAL "$(dbs=$v vtable)"
    done
}
test_data_block_below_logical() {
    attach
    losetup -d "$L0"
    L0=$(loop -b 4096 "$DIR/d")
    refused "Invalid data device block size" EINVAL "$(dbs=2048 vtable)"
}
test_hash_block_size() {
    attach
    for v in 0 256 513 1000 2147483648 512x -1; do
        refused "Invalid hash device block size" EINVAL "$(hbs=$v vtable)"
    done
}
test_hash_block_below_logical() {
    attach
    losetup -d "$L1"
    L1=$(loop -b 4096 "$DIR/h")
    refused "Invalid hash device block size" EINVAL "$(vtable)"
}
test_data_blocks() {
    attach
    for v in x -1 1x 0x10 2305843009213693952 18446744073709551615 99999999999999999999; do
        refused "Invalid data blocks" EINVAL "$(blocks=$v length=8 vtable)"
    done
}
test_length_over_blocks() {
    attach
    refused "Data device is too small" EINVAL "$(blocks=0 length=8 vtable)"
    refused "Data device is too small" EINVAL "$(blocks=511 length=4096 vtable)"
    refused "Data device is too small" EINVAL "$(length=4097 vtable)"
}
test_hash_start() {
    attach
    # 2^61 blocks of 4096 bytes are 2^64 sectors.
    refused "Invalid hash start" EINVAL "$(hbs=4096 start=2305843009213693952 vtable)"
    for v in x -1 1x 0x1; do
        refused "Invalid hash start" EINVAL "$(start=$v vtable)"
    done
}
test_algorithm() {
    attach
    refused "Cannot initialize hash function" ENOENT "$(alg=sha257 vtable)"
    refused "Cannot initialize hash function" ENOENT "$(alg=cbc vtable)"
}
test_root_digest() {
    attach
    refused "Invalid root digest" EINVAL "$(root=${ROOT:1} vtable)"
    refused "Invalid root digest" EINVAL "$(root=${ROOT}0 vtable)"
    refused "Invalid root digest" EINVAL "$(root=${ROOT}00 vtable)"
    refused "Invalid root digest" EINVAL "$(root=-  vtable)"
    refused "Invalid root digest" EINVAL "$(root=${ROOT:1}g vtable)"
    refused "Invalid root digest" EINVAL "$(root=g${ROOT:1} vtable)"
}
test_salt() {
    attach
    for v in 0 001 0g g0 -- 0x12; do refused "Invalid salt" EINVAL "$(salt=$v vtable)"; done
}
test_hash_device_too_small() {
    attach
    refused "Hash device is too small" E2BIG "$(start=128 vtable)"
    refused "Hash device is too small" E2BIG "$(start=94 vtable)"
    # 35 blocks fit exactly behind block 93 of 128.
    start=93 vopen v
}
test_hash_offset_overflow() {
    attach
    for v in 18446744073709551615 99999999999999999999; do
        refused "Hash device offset overflow" E2BIG "$(start=$v vtable)"
    done
}

ksft_main "$@"
