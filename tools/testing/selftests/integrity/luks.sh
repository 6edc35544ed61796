#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# LUKS2 with integrity: the tags come from dm-crypt, the journal makes them safe. A file system
# on it survives a load, and is clean after closing and opening.
# Rows: C-54 I-68 I-81 I-84 T-27
# Needs: integrity
# Time: 240

. "$(dirname "$0")/../lib/volumes.sh"

# Which modules are crypt and integrity: C's, or ours.
use() { # c|ours
    [ "$RDM_MODULES" != c ] || return 0
    local name
    for name in crypt integrity; do
        if [ "$1" = c ]; then
            [ ! -e "/sys/module/rdm_$name" ] || rmmod "rdm_$name"
            modprobe "dm-$name"
        else
            modprobe -r "dm-$name"
            [ -e "/sys/module/rdm_$name" ] || insmod "$RDM_DIR/rdm_$name.ko"
        fi
    done
}
mounted() { # command...
    mount "$(dev l)" "$DIR/mnt"
    "$@"
    umount "$DIR/mnt"
}
reopen() {
    cryptsetup close ksft-l
    "$@"
    cryptsetup open --disable-keyring --key-file "$DIR/secret" "$L" ksft-l
}
file_is() { equal "$(sum "$DIR/mnt/file")" "$want" "$1"; }
file_new() {
    head -c 3M /dev/urandom >"$DIR/mnt/file"
    want=$(sum "$DIR/mnt/file")
}

luks() { # cipher integrity [option...]
    local header=(--luks2-metadata-size 16k --luks2-keyslots-size 512k) seconds=3 want
    [ -z "$LONG" ] || seconds=60
    use ours
    echo -n secret >"$DIR/secret"
    L=$(empty d 24)
    cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
        --cipher "$1" --integrity "$2" --sector-size 4096 "${header[@]}" "${@:3}" \
        --key-file "$DIR/secret" "$L"
    cryptsetup open --disable-keyring --key-file "$DIR/secret" "$L" ksft-l
    mkfs.ext4 -q -O ^has_journal "$(dev l)"
    mkdir -p "$DIR/mnt"
    mounted stress-ng --quiet --temp-path "$DIR/mnt" --timeout "$seconds" --dir 1 --dir-dirs 64 \
        --rename 1 --link 1 --hdd 1 --hdd-bytes 2M
    mounted file_new
    e2fsck -fn "$(dev l)"
    reopen
    e2fsck -fn "$(dev l)"
    mounted file_is "opened again"
    # What ours wrote, C reads, and the other way round.
    reopen use c
    e2fsck -fn "$(dev l)"
    mounted file_is "opened by C"
    mounted file_new
    reopen use ours
    mounted file_is "of C"
    # A changed byte is an error and not other data.
    local byte
    cryptsetup close ksft-l
    byte=$(od -An -tu1 -j$((12 << 20)) -N1 "$L")
    # shellcheck disable=SC2059
    printf "\\x$(printf %02x $((byte ^ 1)))" |
        dd of="$L" bs=1 seek=$((12 << 20)) conv=notrunc status=none
    cryptsetup open --disable-keyring --key-file "$DIR/secret" "$L" ksft-l
    fails "Invalid or incomplete" dd if="$(dev l)" of=/dev/null bs=4k iflag=direct status=none
}
test_journal() { luks aes-xts-plain64 hmac-sha256; }
test_without_a_journal() { luks aes-cbc-essiv:sha256 hmac-sha512 --integrity-no-journal; }
# The tool asks by AF_ALG whether there is such a cipher. The kernel says no until it is told not
# to keep its ciphers from processes.
alone() { # cipher integrity
    modprobe algif_aead
    sysctl -qw crypto.af_alg_restrict=0
    luks "$@"
}
test_poly1305() { alone chacha20-random poly1305; }
test_gcm() { alone aes-gcm-random aead; }

ksft_main "$@"
