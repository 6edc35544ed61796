#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# LUKS2 volumes whose data gets another key, or its first, or loses it, while they are in use; and
# volumes whose sectors are authenticated.
# Rows: C-66 T-01 T-10 T-27
# Boot: --mem 768
# Time: 400

. "$(dirname "$0")/../lib/luks2.sh"

setup() { echo -n ksft-passphrase >"$DIR/pw"; }

test_under_load() {
    local before
    volume
    before=$(volume_key)
    load_start
    reencrypt "$L0"
    load_end
    [ "$(volume_key)" != "$before" ]
    is_there "under load"
    volume_close
    volume_open
    is_there "when opened again"
    volume_close
}
# Plain data gets a key while it is used, and loses it again.
test_first_and_last_key() {
    rm -f "$DIR/header"
    random "$DIR/data" $((MB * 524288))
    cp "$DIR/data" "$DIR/image"
    truncate -s $((MB + 2))M "$DIR/image"
    L0=$(loop "$DIR/image")
    reencrypt --encrypt --type luks2 --header "$DIR/header" "${SMALL[@]}" "$L0" ksft-t
    is_there "with the first key"
    load_start
    load_end
    cmp -n 65536 "$DIR/image" "$DIR/data" && fail "still in plain text"
    volume_close
    HEADER=(--header "$DIR/header")
    volume_open
    is_there "when opened again"
    load_start
    # The tool closes the volume when it is done.
    reencrypt --decrypt --header "$DIR/header" --active-name ksft-t
    load_end
    [ ! -e "$(dev t)" ] || volume_close
    equal "$(head -c $((MB * 524288)) "$DIR/image" | sha256sum | cut -c1-64)" \
        "$(sum "$DIR/data")" "the plain data"
}

# What the tool does with volumes whose sectors are authenticated.
life() { # luksFormat-option...
    truncate -s 0 "$DIR/image"
    truncate -s 24M "$DIR/image"
    L0=$(loop "$DIR/image")
    cryptsetup luksFormat "${QUICK[@]}" "${SMALL[@]}" --type luks2 --key-file "$DIR/pw" "$@" "$L0"
    volume_open
    random "$DIR/data" $((MB * 524288))
    write_direct t "$DIR/data" 64k
    [[ $(cryptsetup status ksft-t) == *integrity:* ]]
    cryptsetup refresh ksft-t --disable-keyring --key-file "$DIR/pw" --perf-no_read_workqueue
    [[ $(dm_table t) == *no_read_workqueue* ]]
    is_there "after a refresh"
    cryptsetup luksSuspend ksft-t
    cryptsetup luksResume ksft-t --disable-keyring --key-file "$DIR/pw"
    is_there "after a suspend"
    volume_close
    volume_open
    is_there "when opened again"
    volume_close
}
need_integrity() {
    dmsetup targets | grep -q '^integrity ' || modprobe dm-integrity || skip "no integrity target"
}
test_hmac() {
    need_integrity
    life --cipher aes-xts-plain64 --integrity hmac-sha256
}

ksft_main "$@"
