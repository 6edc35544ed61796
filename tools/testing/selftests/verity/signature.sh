#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Signed root digests: the key that holds the signature, whose signatures are trusted,
# the module's own keyring, and what is shown.
# Rows: V-37 V-38 V-39 V-40 V-43 V-44 V-60 V-68 V-69
# Time: 180

. "$(dirname "$0")/../lib/verity.sh"
. "$(dirname "$0")/../lib/lsm.sh"
SIG="DM Verity Sig Verification"

setup() {
    small_image
    local name
    for name in own other; do
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=ksft $name" -sha256 \
            -keyout "$DIR/$name.key" -out "$DIR/$name.pem" \
            -addext "keyUsage=digitalSignature" 2>/dev/null
        openssl x509 -in "$DIR/$name.pem" -outform der -out "$DIR/$name.der"
    done
}
# Signs a text as veritysetup wants it signed.
sign() { # name text
    printf %s "$2" | openssl smime -sign -nocerts -noattr -binary -outform der \
        -inkey "$DIR/$1.key" -signer "$DIR/$1.pem" -out "$DIR/sig"
}
key() { keyctl padd user "ksft-$1" @u <"${2:-$DIR/sig}" >/dev/null; }
table() { vtable root_hash_sig_key_desc "ksft-$1"; }
# Reloads the module with parameters. Other modules than verity's stay.
reload() { # [parameter...]
    if [ "$RDM_MODULES" = c ]; then
        modprobe -r dm-verity && modprobe dm-verity "$@"
        return
    fi
    rmmod rdm_verity
    insmod "$RDM_DIR/rdm_verity.ko" "$@"
}
keyring() { awk '$8 == "keyring" && $9 == ".dm-verity:" { print "0x" $1 }' /proc/keys; }
# Runs a test in a session of its own, whose keys go with it.
session() {
    keyctl new_session >/dev/null
    keyctl link @u @s
    keyctl clear @u
    attach
}

refused_open() { # text errno-name key
    refused "$1" "$2" "$(table "$3")"
}
tables_start

test_no_such_key() {
    session
    refused_open "$SIG Invalid key specified" ENOKEY none
}
test_revoked_key() {
    session
    echo x >"$DIR/sig"
    key revoked
    keyctl revoke "%user:ksft-revoked"
    refused_open "$SIG Invalid key specified" EKEYREVOKED revoked
}
test_no_key_named() {
    session
    refused "$SIG Signature key not specified" EINVAL "$(vtable root_hash_sig_key_desc)"
}
test_named_twice() {
    session
    sign own "$ROOT"
    key sig
    refused "$SIG root_hash_sig_key_desc already specified" EINVAL \
        "$(vtable root_hash_sig_key_desc ksft-sig root_hash_sig_key_desc ksft-sig)"
}
test_no_signature_at_all() {
    session
    echo "This is no signature" >"$DIR/sig"
    key sig
    refused_open "Root hash verification failed" EBADMSG sig
}
# None of the keyrings of a stock kernel has the key, and the module's is sealed.
test_unknown_signer() {
    session
    sign own "$ROOT"
    key sig
    refused_open "Root hash verification failed" ENOKEY sig
}
test_keyring_is_sealed() {
    local keyring
    keyring=$(keyring)
    [ -n "$keyring" ] || fail "no keyring .dm-verity"
    fails "Operation not permitted" keyctl padd asymmetric "" "$keyring" <"$DIR/own.der"
}
test_parameters() {
    local p=/sys/module/$VERITY_MODULE/parameters
    equal "$(stat -c %a "$p/require_signatures") $(cat "$p/require_signatures")" "444 N"
    equal "$(stat -c %a "$p/keyring_unsealed") $(cat "$p/keyring_unsealed")" "444 N"
}
test_own_keyring() {
    local keyring out
    session
    reload keyring_unsealed=1
    keyring=$(keyring)
    sign own "$ROOT"
    key sig
    # Keys that anyone could have added are not trusted.
    keyctl padd asymmetric "" "$keyring" <"$DIR/own.der" >/dev/null
    refused_open "Root hash verification failed" ENOKEY sig
    keyctl restrict_keyring "$keyring"
    vopen v root_hash_sig_key_desc ksft-sig
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
    equal "$(dm_table v | cut -d ' ' -f 14-)" "2 root_hash_sig_key_desc ksft-sig"
    dm_remove v
    # The signature is of the word as it is spelled.
    refused "Root hash verification failed" EKEYREJECTED "$(root=${ROOT^^} table sig)"
    sign own "${ROOT^^}"
    key upper
    root=${ROOT^^} vopen v root_hash_sig_key_desc ksft-upper
    dm_remove v
    # Of something else, and by somebody else.
    sign own "${ROOT/[0-9a-f]/g}"
    key wrong
    refused_open "Root hash verification failed" EKEYREJECTED wrong
    sign other "$ROOT"
    key other
    refused_open "Root hash verification failed" ENOKEY other
    # Unsigned tables are accepted all the same.
    vopen v
    dm_remove v
    reload
}
# Who decides what may run gets to see the signature; the measurement names its key.
test_who_is_told() {
    session
    reload keyring_unsealed=1
    keyctl padd asymmetric "" "$(keyring)" <"$DIR/own.der" >/dev/null
    keyctl restrict_keyring "$(keyring)"
    sign own "$ROOT"
    key sig
    ima_start
    lsm_watch
    vopen signed root_hash_sig_key_desc ksft-sig
    equal "$(lsm_told | tail -n 1)" "signature $(stat -c %s "$DIR/sig")$(
        ) $(od -An -tx1 -N 16 "$DIR/sig" | tr -d ' ')"
    local text
    text=$(ima_table signed)
    equal "${text#*,check_at_most_once=}" "n,root_hash_sig_key_desc=ksft-sig;"
    dm_remove signed
    reload
}
test_unmodified_veritysetup() {
    session
    reload keyring_unsealed=1
    keyctl padd asymmetric "" "$(keyring)" <"$DIR/own.der" >/dev/null
    keyctl restrict_keyring "$(keyring)"
    sign own "$ROOT"
    veritysetup open "$L0" ksft-v "$L1" "$ROOT" --root-hash-signature="$DIR/sig"
    veritysetup status ksft-v | grep -q "status: *verified (with signature)"
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
    veritysetup close ksft-v
    sign other "$ROOT"
    if veritysetup open "$L0" ksft-v "$L1" "$ROOT" --root-hash-signature="$DIR/sig"; then
        fail "opened with the signature of somebody else"
    fi
    reload
}
test_signatures_required() {
    session
    reload require_signatures=1 keyring_unsealed=1
    refused "Root hash verification failed" ENOKEY "$(vtable)"
    keyctl padd asymmetric "" "$(keyring)" <"$DIR/own.der" >/dev/null
    keyctl restrict_keyring "$(keyring)"
    sign own "$ROOT"
    key sig
    refused "Root hash verification failed" ENOKEY "$(vtable)"
    vopen v root_hash_sig_key_desc ksft-sig
    dm_remove v
    reload
}
test_keyring_goes_with_the_module() {
    local end=$((SECONDS + 20))
    [ -n "$(keyring)" ]
    reload
    # Keys are collected some time after they have gone.
    while [ "$(keyring | wc -l)" != 1 ] && [ $SECONDS -lt $end ]; do sleep 0.2; done
    equal "$(keyring | wc -l)" 1
}

ksft_main "$@"
