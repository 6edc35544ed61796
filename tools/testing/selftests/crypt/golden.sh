#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The cipher text of 1 MiB of zeroes, for every mode, and back. What C writes is the
# value. Writes and reads of several sizes take different ways through the target.
# Rows: C-10 C-26 C-27 C-42 C-43 C-44 C-45 C-46 C-47 C-48 C-49 C-51 C-52 Cases: C16

. "$(dirname "$0")/../lib/crypt.sh"

golden() { # value cipher [option...]
    local value=$1 bs
    shift
    attach
    truncate -s $((SIZE * 512)) "$DIR/zeroes"
    for bs in 4096 131072 1048576; do
        dd if=/dev/urandom of="$L0" bs=1M count=1 oflag=direct status=none
        copen g "$@"
        write_direct g "$DIR/zeroes" $bs
        equal "$(below)" "$value" "cipher text of $* written by $bs"
        equal "$(read_sum "$(dev g)" $bs)" "$(sum "$DIR/zeroes")" "plain text of $* read by $bs"
        dm_remove g
    done
    losetup -d "$L0"
}

test_xts_plain64() {
    golden 67d09a473e32e6d072cee3a63abe7b83 aes-xts-plain64
    golden 67d09a473e32e6d072cee3a63abe7b83 aes-xts-plain64 no_read_workqueue no_write_workqueue
    golden 67d09a473e32e6d072cee3a63abe7b83 aes-xts-plain64 same_cpu_crypt high_priority \
        submit_from_crypt_cpus allow_discards
    golden 67d09a473e32e6d072cee3a63abe7b83 "capi:xts(aes)-plain64"
}
test_large_sectors() {
    golden a44385de5a908effedec6a65c2fe6325 aes-xts-plain64 sector_size:4096
    golden 90bb6a41ca8afd8c5ed131893ab025bc aes-xts-plain64 sector_size:4096 iv_large_sectors
}
test_xts_plain64be() { golden 9afb0a407babf20804ef97849f9d2eb7 aes-xts-plain64be; }
test_cbc_essiv() { key=$KEY32 golden 7da961f93a9bbc7cc1922a25e6df7e9b aes-cbc-essiv:sha256; }
test_cbc_plain() {
    key=$KEY32 golden 29dc6044b5682ef8b489704d04766f45 aes-cbc-plain
    key=$KEY32 golden 29dc6044b5682ef8b489704d04766f45 aes-cbc-plain64
    key=$KEY32 golden 29dc6044b5682ef8b489704d04766f45 aes
}
test_cbc_benbi() { key=$KEY32 golden 549dc55bb2c9cc3690abc44da045dc70 aes-cbc-benbi; }
test_cbc_null() { key=$KEY32 golden 4886a8b1a471b5464e37fd3a1e82e3e8 aes-cbc-null; }
test_cbc_eboiv() { key=$KEY32 golden 76337c3b0d278f7ed9fdf626943144fe aes-cbc-eboiv; }
test_cbc_elephant() {
    golden a03ad04e3e1f08c2cbfda63daf57468f aes-cbc-elephant sector_size:512
}
test_cbc_lmk() {
    local key
    key=$(for i in {1..64}; do printf %032d "$i"; done)
    key=$key golden 6d8664a98177442315a18414323e22dc aes:64-cbc-lmk
}
test_xts_tcw() { golden abafd2d86009a5e175345534ef3fac99 aes-xts-tcw; }

ksft_main "$@"
