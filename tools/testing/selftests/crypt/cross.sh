#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Both targets in one kernel: what one writes, the other reads, and the cipher text
# is the same, for IV modes, numbers of keys, sector sizes, offsets and options.
# Rows: C-10 C-11 C-12 C-13 C-26 C-27 C-42 C-43 C-44 C-45 C-46 C-47 C-48 C-49 C-51 C-52 C-53
# Modules: rdm
# Boot: --mem 768
# Time: 240

. "$(dirname "$0")/../lib/crypt_tables.sh"
SIZE=512

setup() {
    random "$DIR/data" $((SIZE * 512))
    random "$DIR/other" $((SIZE * 512))
}

# The C target needs its name: ours is unloaded, and comes again as rcrypt only. No
# other file is in this VM.
both_targets() {
    rmmod rdm_crypt && modprobe dm-crypt && insmod "$RDM_DIR/rdm_crypt.ko"
}
# Both over one device: each reads what the other has written, and since no two
# cipher texts have one plain text, these are the same.
same_text() { # cipher [option...]
    target=crypt copen c "$@"
    target=rcrypt copen r "$@"
    write_direct c "$DIR/data" 64k
    reads r "$DIR/data" 64k "$*: not what C wrote"
    write_direct r "$DIR/other" 128k
    reads c "$DIR/other" 128k "$*: C reads something else"
    dmsetup remove ksft-c ksft-r
}
reads() { # name file block-size text
    dd if="$(dev "$1")" bs="$3" iflag=direct status=none | cmp - "$2" || fail "$4"
}

test_sector_sizes() {
    attach
    local bytes
    for bytes in 512 1024 2048 4096; do
        iv_offset=$((bytes * 3 / 512)) same_text aes-xts-plain64 sector_size:$bytes
        iv_offset=$((bytes * 3 / 512)) same_text aes-xts-plain64 sector_size:$bytes iv_large_sectors
    done
}
test_high_offsets() {
    attach
    local mode
    for mode in plain plain64 plain64be benbi null essiv:sha256; do
        iv_offset=4294967290 key=$KEY32 same_text aes-cbc-$mode
        iv_offset=18446744073709551600 key=$KEY32 same_text aes-cbc-$mode
    done
}
test_modes_with_large_sectors() {
    attach
    local mode
    for mode in plain64be benbi null essiv:sha256 eboiv; do
        iv_offset=16 key=$KEY32 same_text aes-cbc-$mode sector_size:2048
        iv_offset=16 key=$KEY32 same_text aes-cbc-$mode sector_size:4096 iv_large_sectors
    done
    iv_offset=16 same_text aes-cbc-elephant sector_size:4096
    iv_offset=16 same_text aes-cbc-elephant sector_size:1024 iv_large_sectors
}
test_numbers_of_keys() {
    attach
    local n
    for n in 2 4 16; do
        key=$(key $((n * 16))) iv_offset=24 same_text aes:$n-cbc-plain64
        key=$(key $((n * 32))) iv_offset=24 same_text aes:$n-xts-plain64 sector_size:4096
    done
}
test_lmk() {
    attach
    key=$(key 1024) iv_offset=3 same_text aes:64-cbc-lmk
    key=$(key 1040) iv_offset=3 same_text aes:64-cbc-lmk
    key=$(key 1040) iv_offset=1099511627776 same_text "capi:cbc(aes)-lmk"
    key=$(key 32) same_text aes-cbc-lmk
}
test_tcw() {
    attach
    key=$(key 64) iv_offset=1099511627777 same_text aes-xts-tcw
    key=$(key 48) iv_offset=256 same_text aes-cbc-tcw
}
test_bitlocker() {
    attach
    for n in 32 48 64; do key=$(key $n) iv_offset=9 same_text aes-cbc-elephant; done
    key=$(key 32) iv_offset=9 same_text aes-cbc-eboiv
    key=$(key 64) iv_offset=9 same_text "capi:xts(aes)-eboiv"
}
test_other_ciphers() {
    attach
    local n
    for n in 16 24 32; do key=$(key $n) same_text aes-cbc-plain64; done
    for n in 32 64; do key=$(key $n) same_text aes-xts-plain64; done
    key=$(key 32) same_text "capi:ctr(aes)-plain64"
    key=- same_text cipher_null-ecb
    key=$(key 32) same_text aes-ecb
    # Blocks and IVs of eight bytes, and an IV of 32.
    key=0123456789abcdeffedcba98765432101122334455667788 same_text des3_ede-cbc-plain64
    key=$(key 32) same_text "capi:adiantum(xchacha12,aes)-plain64"
}
test_options() {
    attach
    same_text aes-xts-plain64 no_read_workqueue no_write_workqueue
    same_text aes-xts-plain64 same_cpu_crypt high_priority submit_from_crypt_cpus allow_discards
    key=$KEY32 same_text aes-cbc-essiv:sha256 no_read_workqueue no_write_workqueue
    same_text aes-xts-tcw no_read_workqueue no_write_workqueue
    same_text aes-cbc-elephant no_read_workqueue no_write_workqueue
}

cross_main() { # test...
    both_targets && ksft_main "$@"
}
cross_main "$@"
