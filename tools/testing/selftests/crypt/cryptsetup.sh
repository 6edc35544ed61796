#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The ordinary tool: volumes of each kind, opened, resized, suspended, and closed.
# Rows: T-01 T-02 T-03 T-04 T-05 T-06 T-07 T-08 T-10 T-21 T-26 T-28 T-32
# Time: 300

. "$(dirname "$0")/../lib/crypt.sh"

setup() {
    echo -n ksft-passphrase >"$DIR/pw"
    truncate -s 40M "$DIR/luks1" "$DIR/luks2" "$DIR/luks4k"
    local quick="-q --pbkdf-force-iterations 1000"
    # shellcheck disable=SC2086
    {
        cryptsetup luksFormat $quick --type luks1 "$DIR/luks1" "$DIR/pw"
        cryptsetup luksFormat $quick --type luks2 --pbkdf pbkdf2 --sector-size 512 \
            "$DIR/luks2" "$DIR/pw"
        cryptsetup luksFormat $quick --type luks2 --pbkdf pbkdf2 --sector-size 4096 \
            "$DIR/luks4k" "$DIR/pw"
    }
}
copen_luks() { # image [option...]
    local image=$1
    shift
    L0=$(loop "$DIR/$image")
    cryptsetup open "$L0" ksft-t --key-file "$DIR/pw" "$@"
}
with_files() {
    mkfs.ext4 -q "$(dev t)" 8M
    mkdir -p "$DIR/mnt"
    mount "$(dev t)" "$DIR/mnt"
    cp "$0" "$DIR/mnt/file"
    umount "$DIR/mnt"
}
files_are_there() {
    mount "$(dev t)" "$DIR/mnt"
    cmp "$0" "$DIR/mnt/file"
    umount "$DIR/mnt"
    fsck.ext4 -fn "$(dev t)" >/dev/null 2>&1
}
life() { # image [option...]
    local image=$1
    copen_luks "$@"
    with_files
    [[ $(cryptsetup status ksft-t) == *"type:"*LUKS* ]]
    cryptsetup resize ksft-t --size 16384 --key-file "$DIR/pw"
    equal "$(sectors "$(dev t)")" 16384
    cryptsetup refresh ksft-t --allow-discards --key-file "$DIR/pw"
    [[ $(dm_table t) == *allow_discards* ]]
    cryptsetup luksSuspend ksft-t
    [[ $(dmsetup table --showkeys ksft-t) == *" $(printf %0128d 0) "* ]]
    cryptsetup luksResume ksft-t --key-file "$DIR/pw"
    files_are_there
    cryptsetup close ksft-t
    copen_luks "$@"
    files_are_there
    cryptsetup close ksft-t
}
test_luks1() { life luks1; }
test_luks2() { life luks2; }
test_luks2_4k() { life luks4k; }
test_luks2_options() {
    life luks2 --perf-no_read_workqueue --perf-no_write_workqueue --perf-same_cpu_crypt \
        --perf-submit_from_crypt_cpus
}
test_wrong_passphrase() {
    L0=$(loop "$DIR/luks2")
    echo -n wrong >"$DIR/wrong"
    fails "No key available" cryptsetup open "$L0" ksft-t --key-file "$DIR/wrong"
}
plain() { # [option...]
    attach
    L1=$L0
    cryptsetup open --type plain "$L1" ksft-t "$@" <"$DIR/pw"
    random "$DIR/data" $((SIZE * 512))
    write_direct t "$DIR/data" 64k
    cryptsetup status ksft-t >/dev/null
    cryptsetup close ksft-t
    cryptsetup open --type plain "$L1" ksft-t "$@" <"$DIR/pw"
    equal "$(read_sum "$(dev t)" 64k)" "$(sum "$DIR/data")"
    cryptsetup close ksft-t
}
test_plain() {
    plain --cipher aes-xts-plain64 --key-size 512 --hash sha256
    plain --cipher aes-cbc-essiv:sha256 --key-size 256 --hash sha256
}

ksft_main "$@"
