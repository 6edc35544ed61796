#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tables that are refused: the text, the number, and the order of the checks.
# Rows: C-01 C-02 C-03 C-04 C-05 C-08 C-09 C-10 C-11 C-12 C-13 C-14 C-15 C-17 C-24 C-26 C-28 C-30

. "$(dirname "$0")/../lib/crypt.sh"
INVAL="Invalid argument"

invalid() { # text table
    refused "$INVAL" "$1" EINVAL "$2"
}

test_arguments() {
    attach
    invalid "Not enough arguments" "0 2048 $C aes-xts-plain64 $KEY64 0 $L0"
    invalid "Cannot parse key size" "$(key=:32 ctable aes-xts-plain64)"
    invalid "Cannot parse key size" "$(key=:x:logon:k ctable aes-xts-plain64)"
}
test_key() {
    attach
    invalid "Error decoding and setting key" "$(key=zz ctable aes-xts-plain64)"
    invalid "Error decoding and setting key" "$(key=00 ctable aes-xts-plain64)"
    invalid "Error decoding and setting key" "$(key=- ctable aes-xts-plain64)"
    invalid "Error decoding and setting key" "$(key=:0:logon:k ctable aes-xts-plain64)"
    invalid "Error decoding and setting key" "$(key=:64:keyring:k ctable aes-xts-plain64)"
    refused "Required key not available" "Error decoding and setting key" ENOKEY \
        "$(key=:64:logon:ksft:none ctable aes-xts-plain64)"
}
test_no_key_for_null_cipher() {
    attach
    key=- copen n cipher_null-ecb
    equal "$(dmsetup table --showkeys ksft-n)" \
        "0 2048 $C cipher_null-ecb - 0 $(majmin "$L0") 0"
}
test_numbers() {
    attach
    invalid "Invalid iv_offset sector" "$(iv_offset=x ctable aes-xts-plain64)"
    invalid "Invalid iv_offset sector" "$(iv_offset=4 ctable aes-xts-plain64 sector_size:4096)"
    invalid "Invalid device sector" "$(start=-1 ctable aes-xts-plain64)"
    refused "No such file" "Device lookup failed" ENOENT \
        "$(device=/dev/ksft-none ctable aes-xts-plain64)"
}
test_cipher() {
    attach
    invalid "Bad cipher specification" "$(ctable "xts(aes)-plain64")"
    invalid "Bad cipher specification" "$(ctable aes-xts-plain64 integrity:32:aead)"
    invalid "Bad cipher key count specification" "$(ctable aes:3-xts-plain64)"
    invalid "IV mechanism required" "$(ctable aes-xts)"
    invalid "Digest algorithm missing for ESSIV mode" "$(ctable aes-cbc-essiv)"
    invalid "Invalid IV mode" "$(ctable aes-xts-plain65)"
    refused "No such file" "Error allocating crypto tfm" ENOENT "$(ctable ksft-xts-plain64)"
    invalid "Error creating IV" "$(key=$KEY32 ctable aes-cbc-lmk sector_size:4096)"
}
test_cipher_without_iv() {
    attach
    log_mark
    key=$KEY32 copen n aes-ecb-plain
    log_has "device-mapper: crypt: Selected cipher does not support IVs$"
}
test_options() {
    attach
    invalid "Invalid number of feature args" "$(ctable aes-xts-plain64) 10 allow_discards"
    invalid "Invalid number of feature args" "$(ctable aes-xts-plain64) 2 allow_discards"
    invalid "Invalid feature arguments" "$(ctable aes-xts-plain64 ksft)"
    invalid "Invalid feature value for sector_size" "$(ctable aes-xts-plain64 sector_size:1000)"
    invalid "Invalid feature value for sector_size" "$(ctable aes-xts-plain64 sector_size:8192)"
    invalid "Device size is not multiple of sector_size feature" \
        "$(size=2047 ctable aes-xts-plain64 sector_size:4096)"
    invalid "Invalid integrity arguments" "$(ctable aes-xts-plain64 integrity:481:none)"
    invalid "Unknown integrity profile" "$(ctable aes-xts-plain64 integrity:16:ksft)"
    invalid "Invalid integrity_key_size argument" "$(ctable aes-xts-plain64 integrity_key_size:0)"
}
# The kernel's parser of this word reads beyond its end in C.
test_integrity_without_profile() {
    [ "${RDM_MODULES:-c}" != c ] || skip "C crashes"
    attach
    invalid "Unknown integrity profile" "$(ctable aes-xts-plain64 integrity:16)"
}
# Both spell out what they have, and nothing is left of a table that was refused.
test_odd_digit() {
    attach
    key=${KEY64}1 copen o aes-xts-plain64
    equal "$(dmsetup table --showkeys ksft-o)" \
        "0 2048 $C aes-xts-plain64 $KEY64 0 $(majmin "$L0") 0"
}

ksft_main "$@"
