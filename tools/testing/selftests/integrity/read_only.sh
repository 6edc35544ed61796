#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A volume that was closed can be used on a disk that cannot be written; one with a journal to
# replay gives errors there and no old data (case I13).
# Rows: I-64 I-73 I-78
# Needs: integrity

. "$(dirname "$0")/../lib/volumes.sh"

prepare() { # makes $DIR/clean and $DIR/dirty
    L=$(empty d 6)
    iformat "$L"
    iopen "$L" v
    dd if=/dev/urandom of="$(dev v)" bs=64k count=8 oflag=direct conv=fsync status=none
    cp "$DIR/d" "$DIR/dirty"
    WANT=$(dd if="$(dev v)" bs=64k iflag=direct status=none | sha256sum)
    iclose v
    cp "$DIR/d" "$DIR/clean"
}
test_clean() {
    prepare
    L=$(loop --read-only "$DIR/clean")
    iopen "$L" v
    equal "$(dd if="$(dev v)" bs=64k iflag=direct status=none | sha256sum)" "$WANT"
}
test_not_clean() {
    prepare
    L=$(loop --read-only "$DIR/dirty")
    log_mark
    iopen "$L" v
    log_has "Error on copying from journal: -5"
    fails "Input/output error" read_direct "$(dev v)" 0
    fails "Input/output error" read_direct "$(dev v)" 100
}

ksft_main "$@"
