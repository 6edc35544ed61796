#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Sectors with metadata: tags and random vectors, on an integrity device without a
# hash of its own, and LUKS2 volumes of that kind.
# Rows: C-16 C-24 C-30 C-31 C-50 C-54 C-55 C-56 C-57 C-58 T-27 Cases: C10 C11
# Time: 300

. "$(dirname "$0")/../lib/crypt.sh"
SIZE=32768

need_integrity() {
    dmsetup targets | grep -q '^integrity ' || modprobe dm-integrity || skip "no integrity target"
}
# An integrity device ksft-d with so many bytes of metadata for each block.
below() { # bytes block-size
    need_integrity
    attach
    local sectors
    dm_create d "0 8 integrity $L0 0 $1 J 1 block_size:$2"
    dm_remove d
    sectors=$(od -An -tu8 -j16 -N8 "$L0" | tr -d ' ')
    sectors=$((sectors / 8 * 8))
    dm_create d "0 $sectors integrity $L0 0 $1 J 1 block_size:$2"
    device=$(dev d)
    size=8192
}
round_trip() { # cipher [option...]
    copen a "$@"
    random "$DIR/data" $((size * 512))
    write_direct a "$DIR/data" 64k
    equal "$(read_sum "$(dev a)" 64k)" "$(sum "$DIR/data")" "$1 by 64k"
    dm_remove a
    copen a "$@"
    equal "$(read_sum "$(dev a)" 4k)" "$(sum "$DIR/data")" "$1 by 4k"
    write_direct a "$DIR/data" 4k
    equal "$(read_sum "$(dev a)" 512k)" "$(sum "$DIR/data")" "$1 by 512k"
    dm_remove a
}
test_hmac() {
    below 32 512
    key=$(printf %0192d 1) round_trip "capi:authenc(hmac(sha256),xts(aes))-plain64" \
        integrity:32:aead
}
test_hmac_4k_random() {
    below 48 4096
    key=$(printf %0192d 1) round_trip "capi:authenc(hmac(sha256),xts(aes))-random" \
        integrity:48:aead sector_size:4096
}
test_gcm() {
    below 28 512
    key=$KEY32 round_trip "capi:gcm(aes)-random" integrity:28:aead
}
test_poly1305() {
    below 28 512
    key=$KEY32 round_trip "capi:rfc7539(chacha20,poly1305)-random" integrity:28:aead
}
# Vectors are stored, nothing is authenticated; the device may have more room.
test_random_alone() {
    below 32 512
    round_trip capi:xts\(aes\)-random integrity:16:none
}
test_refused() {
    attach
    local key
    key=$(printf %0192d 1)
    refused "Invalid argument" "Integrity profile not supported." EINVAL \
        "$(key=$key ctable "capi:authenc(hmac(sha256),xts(aes))-plain64" integrity:32:aead)"
    losetup -d "$L0"
    below 32 512
    refused "Invalid argument" "Integrity profile tag size mismatch." EINVAL \
        "$(key=$key ctable "capi:authenc(hmac(sha256),xts(aes))-random" integrity:48:aead)"
    refused "Invalid argument" "Integrity profile sector size mismatch." EINVAL \
        "$(key=$key ctable "capi:authenc(hmac(sha256),xts(aes))-plain64" integrity:32:aead \
            sector_size:4096)"
}
# A sector that was never written, or whose cipher text was changed, is no data.
test_wrong_tag() {
    below 32 512
    key=$(printf %0192d 1) copen a "capi:authenc(hmac(sha256),xts(aes))-plain64" integrity:32:aead
    log_mark
    fails "Invalid or incomplete" read_direct "$(dev a)" 9 512 1
    log_has "device-mapper: crypt: dm-[0-9]+: INTEGRITY AEAD ERROR, sector 9"
    dd if=/dev/urandom of="$(dev a)" bs=512 seek=9 count=1 oflag=direct status=none
    read_direct "$(dev a)" 9 512 1
    # The same cipher text in another place.
    dm_remove a
    dd if="$(dev d)" of="$DIR/sector" bs=512 skip=9 count=1 iflag=direct status=none || :
    key=$(printf %0192d 2) copen a "capi:authenc(hmac(sha256),xts(aes))-plain64" integrity:32:aead
    fails "Invalid or incomplete" read_direct "$(dev a)" 9 512 1
}
test_luks2() {
    need_integrity
    attach
    truncate -s 32M "$DIR/image"
    losetup -c "$L0"
    echo -n ksft-passphrase >"$DIR/pw"
    cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
        --integrity hmac-sha256 --integrity-no-wipe "$L0" "$DIR/pw"
    cryptsetup open "$L0" ksft-t --key-file "$DIR/pw"
    random "$DIR/data" 4194304
    write_direct t "$DIR/data" 64k
    equal "$(dd if="$(dev t)" bs=64k count=64 iflag=direct status=none | sha256sum | cut -c1-64)" \
        "$(sum "$DIR/data")"
    cryptsetup status ksft-t | grep -q "integrity: *hmac(sha256)"
    cryptsetup luksSuspend ksft-t
    cryptsetup luksResume ksft-t --key-file "$DIR/pw"
    read_direct "$(dev t)" 0
    cryptsetup close ksft-t
}

ksft_main "$@"
