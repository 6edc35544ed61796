#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# LUKS2 with integrity: the tags come from dm-crypt, the journal makes them safe. A file system
# on it survives a load, and is clean after closing and opening.
# Rows: I-68 I-81 I-84 T-27
# Needs: integrity
# Time: 240

. "$(dirname "$0")/../lib/volumes.sh"

luks() { # cipher integrity [option...]
    local header=(--luks2-metadata-size 16k --luks2-keyslots-size 512k) seconds=3 want
    [ -z "$LONG" ] || seconds=60
    echo -n secret >"$DIR/secret"
    L=$(empty d 24)
    cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
        --cipher "$1" --integrity "$2" --sector-size 4096 "${header[@]}" "${@:3}" \
        --key-file "$DIR/secret" "$L"
    cryptsetup open --disable-keyring --key-file "$DIR/secret" "$L" ksft-l
    mkfs.ext4 -q -O ^has_journal "$(dev l)"
    mkdir -p "$DIR/mnt"
    mount "$(dev l)" "$DIR/mnt"
    stress-ng --quiet --temp-path "$DIR/mnt" --timeout "$seconds" --dir 1 --dir-dirs 64 --rename 1 \
        --link 1 --hdd 1 --hdd-bytes 2M
    head -c 3M /dev/urandom >"$DIR/mnt/file"
    sync
    want=$(sum "$DIR/mnt/file")
    umount "$DIR/mnt"
    e2fsck -fn "$(dev l)"
    cryptsetup close ksft-l
    cryptsetup open --disable-keyring --key-file "$DIR/secret" "$L" ksft-l
    e2fsck -fn "$(dev l)"
    mount "$(dev l)" "$DIR/mnt"
    equal "$(sum "$DIR/mnt/file")" "$want"
    umount "$DIR/mnt"
}
test_journal() { luks aes-xts-plain64 hmac-sha256; }
test_without_a_journal() { luks aes-cbc-essiv:sha256 hmac-sha512 --integrity-no-journal; }

ksft_main "$@"
