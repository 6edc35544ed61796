#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Keys of keyrings, and messages that change the key.
# Rows: C-05 C-06 C-37 C-38 C-39 C-40 C-41 C-70

. "$(dirname "$0")/../lib/crypt.sh"

keytable() { dmsetup table --showkeys "ksft-$1"; }
add_key() { # type description hex
    python3 - "$@" <<'END'
import ctypes, sys
kind, name, data = sys.argv[1].encode(), sys.argv[2].encode(), bytes.fromhex(sys.argv[3])
libc = ctypes.CDLL(None, use_errno=True)
# add_key to the user keyring of whoever runs the tests.
if libc.syscall(248, kind, name, data, len(data), -4) < 0:
    sys.exit("add_key: errno %d" % ctypes.get_errno())
END
}
pattern() {
    random "$DIR/data" $((SIZE * 512))
    write_direct "$1" "$DIR/data" 64k
}
holds() { # device: the pattern
    equal "$(read_sum "$(dev "$1")" 64k)" "$(sum "$DIR/data")" "what $1 has"
}

test_keyring() {
    local type
    for type in logon user; do
        attach
        copen h aes-xts-plain64
        pattern h
        dm_remove h
        add_key $type ksft:key "$KEY64"
        key=:64:$type:ksft:key copen k aes-xts-plain64
        equal "$(keytable k)" \
            "0 2048 $C aes-xts-plain64 :64:$type:ksft:key 0 $(majmin "$L0") 0"
        holds k
        dm_remove k
        losetup -d "$L0"
    done
}
test_keyring_size() {
    attach
    add_key logon ksft:short "$KEY32"
    refused "Invalid argument" "Error decoding and setting key" EINVAL \
        "$(key=:64:logon:ksft:short ctable aes-xts-plain64)"
}
test_not_suspended() {
    attach
    copen m aes-xts-plain64
    log_mark
    fails "Invalid argument" dmsetup message ksft-m 0 key wipe
    log_has "device-mapper: crypt: not suspended during key manipulation[.]$"
    fails "Invalid argument" dmsetup message ksft-m 0 ksft wipe
    log_has "device-mapper: crypt: unrecognised message received[.]$"
}
test_wipe_and_set() {
    attach
    copen m aes-xts-plain64
    pattern m
    dmsetup suspend ksft-m
    dmsetup message ksft-m 0 KEY Wipe
    equal "$(keytable m)" "0 2048 $C aes-xts-plain64 $(printf %0128d 0) 0 $(majmin "$L0") 0"
    log_mark
    fails "Resource temporarily unavailable" dmsetup resume ksft-m
    log_has "device-mapper: crypt: aborting resume - crypt key is not set[.]$"
    fails "Invalid argument" dmsetup message ksft-m 0 key set "$KEY32"
    fails "Invalid argument" dmsetup message ksft-m 0 key set "${KEY64/1/x}"
    dmsetup message ksft-m 0 key set "$KEY64"
    dmsetup resume ksft-m
    equal "$(keytable m)" "0 2048 $C aes-xts-plain64 $KEY64 0 $(majmin "$L0") 0"
    holds m
}
test_set_from_keyring() {
    attach
    copen m aes-xts-plain64
    pattern m
    add_key logon ksft:key "$KEY64"
    dmsetup suspend ksft-m
    fails "Required key not available" dmsetup message ksft-m 0 key set :64:logon:ksft:none
    dmsetup message ksft-m 0 key set :64:logon:ksft:key
    dmsetup resume ksft-m
    [[ $(keytable m) == *" :64:logon:ksft:key "* ]]
    holds m
}
# The modes that keep a part of the key for themselves.
test_special_modes() {
    local cipher key
    for cipher in aes-xts-tcw aes-cbc-elephant aes:64-cbc-lmk; do
        key=$KEY64
        [ $cipher != aes:64-cbc-lmk ] || key=$(for i in {1..65}; do printf %032d "$i"; done)
        attach
        key=$key copen m $cipher
        pattern m
        dmsetup suspend ksft-m
        dmsetup message ksft-m 0 key wipe
        dmsetup message ksft-m 0 key set "$key"
        dmsetup resume ksft-m
        holds m
        dm_remove m
        losetup -d "$L0"
    done
}
# A table without its key is not resumed: the message must be before that.
test_failed_set() {
    attach
    copen m aes-xts-plain64
    dmsetup suspend ksft-m
    fails "Invalid argument" dmsetup message ksft-m 0 key set "${KEY64/1/x}"
    fails "Resource temporarily unavailable" dmsetup resume ksft-m
    dmsetup message ksft-m 0 key set "$KEY64"
    dmsetup resume ksft-m
}

ksft_main "$@"
