#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each positional argument: what is refused, with which text and errno, what is
# taken for something else, and that nothing stays behind.
# Rows: C-01 C-02 C-03 C-04 C-05 C-08 C-09 C-10 C-11 C-12 C-13 C-14 C-15 X-04 X-06 X-10

. "$(dirname "$0")/../lib/crypt_tables.sh"
tables_start

test_argument_count() {
    attach
    local words n
    read -r -a words <<<"$(ctable aes-xts-plain64)"
    for n in 4 5 6 7; do invalid "Not enough arguments" "${words[*]:0:$n}"; done
}
test_order_of_checks() {
    attach
    invalid "Cannot parse key size" "$(key=:x: ctable aes 10)"
    invalid "Invalid feature arguments" "$(key=x iv_offset=x ctable aes-cbc-x nonsense)"
    invalid "Invalid IV mode" "$(key=xx iv_offset=x ctable aes-cbc-x)"
    # The key is set before the IV mode looks at anything.
    bad_key 00 aes-xts-lmk
    bad_key xx aes-cbc-plain
    invalid "Error creating IV" "$(key=$KEY32 iv_offset=x ctable aes-cbc-lmk sector_size:1024)"
    invalid "Invalid iv_offset sector" "$(iv_offset=x device=/dev/none start=x ctable aes-xts-null)"
    bad "Device lookup failed" ENOENT "$(device=/dev/none start=x ctable aes-xts-null)"
    invalid "Invalid device sector" "$(start=x ctable aes-xts-null)"
}
test_size_of_a_key() {
    attach
    local k
    for k in :32 : :: :x:logon:a :-1:logon:a :32x:logon:a :2147483648:logon:a \
        :99999999999999999999:logon:a; do
        invalid "Cannot parse key size" "$(key=$k ctable aes-xts-plain64)"
    done
}
test_wrong_keys() {
    attach
    local k
    # Too short, too long, no digits, no key, no number of bytes.
    for k in 00 "${KEY64}00" "${KEY64/1/g}" - 0 :0:logon:a :64:Logon:a :64:keyring:a :64::a \
        :64:logon: :64:logon; do
        bad_key "$k" aes-xts-plain64
    done
    bad "Error decoding and setting key" ENOKEY "$(key=:64:logon:ksft:none ctable aes-xts-null)"
    log_mark
    bad_key ':64:logon:a\ b' aes-xts-plain64
    log_has "device-mapper: crypt: whitespace chars not allowed in key string"
}
test_digits_of_keys() {
    attach
    local at
    at="0 $(majmin "$L0") 0"
    # Letters of either case; an odd last digit does not count, whatever it is.
    equal "$(shown "$(key=${KEY32//00/aB} ctable aes:2-cbc-plain)")" \
        "0 2048 $C aes:2-cbc-plain ${KEY32//00/ab} $at"
    equal "$(shown "$(key=${KEY32}x ctable aes-cbc-plain)")" \
        "0 2048 $C aes-cbc-plain $KEY32 $at"
    equal "$(shown "$(key=- ctable cipher_null-ecb)")" "0 2048 $C cipher_null-ecb - $at"
    bad_key 00 cipher_null-ecb
}
test_offset_of_ivs() {
    attach
    local v
    for v in x -1 1x 0x1 +1; do
        invalid "Invalid iv_offset sector" "$(iv_offset=$v ctable aes-xts-plain64)"
    done
    for v in 1 2 4 12; do
        invalid "Invalid iv_offset sector" \
            "$(iv_offset=$v ctable aes-xts-plain64 sector_size:4096)"
        invalid "Invalid iv_offset sector" \
            "$(iv_offset=$v ctable aes-xts-plain64 sector_size:4096 iv_large_sectors)"
    done
    # More than 64 bits are all of them.
    [[ $(shown "$(iv_offset=18446744073709551617 ctable aes-xts-plain64)") == \
        *" 18446744073709551615 $(majmin "$L0") 0" ]]
}
test_start() {
    attach
    local v
    for v in x -1 1x 0x1 +1; do
        invalid "Invalid device sector" "$(start=$v ctable aes-xts-plain64)"
    done
}
test_old_ciphers() {
    attach
    local v
    for v in 0 3 6 -1 x '' 2x 4294967296; do
        invalid "Bad cipher key count specification" "$(ctable "aes:$v-cbc-plain")"
    done
    for v in aes-cbc aes-cbc:plain aes-ECB aes-; do
        invalid "IV mechanism required" "$(ctable $v)"
    done
    for v in "cbc(aes)" "CAPI:cbc(aes)-plain" "aes-cbc-essiv:(sha256"; do
        invalid "Bad cipher specification" "$(ctable "$v")"
    done
    invalid "Bad cipher specification" "$(ctable aes-cbc-plain integrity:16:aead)"
    bad "Error allocating crypto tfm" ENOENT "$(ctable ksft-cbc-plain)"
    bad "Error allocating crypto tfm" ENOENT "$(ctable aes-plain-null)"
    bad "Error allocating crypto tfm" ENOENT "$(ctable aes-cbc-essiv:ksft)"
    bad "Cannot allocate cipher strings" ENOMEM "$(ctable "$(printf %0123d 1)-cbc-plain")"
    bad "Cannot allocate cipher strings" ENOMEM "$(ctable "$(printf %0109d 1)-cbc-essiv:sha256")"
}
test_new_ciphers() {
    attach
    bad "Error allocating crypto tfm" ENOENT "$(ctable "capi:ksft(aes)-plain")"
    bad "Error allocating crypto tfm" ENOENT "$(ctable "capi:$(printf %0130d 1)-plain")"
    bad "Error allocating crypto tfm" ENOENT "$(ctable "capi:-plain")"
    bad "Cannot allocate cipher string" ENOMEM "$(ctable "capi:$(printf %0114d 1)-essiv:sha256")"
    invalid "Invalid IV mode" "$(ctable "capi:xts(aes)-plain32")"
}
test_iv_modes() {
    attach
    local v
    for v in Plain plain32 PLAIN64 "''" random2 ivs; do
        invalid "Invalid IV mode" "$(ctable "aes-xts-$v")"
    done
    invalid "Digest algorithm missing for ESSIV mode" "$(ctable aes-cbc-essiv)"
    invalid "Digest algorithm missing for ESSIV mode" "$(ctable "capi:cbc(aes)-essiv")"
}
test_constructors_of_iv_modes() {
    attach
    local error="Error creating IV"
    invalid "$error" "$(key=$KEY32 ctable aes-cbc-lmk sector_size:4096)"
    invalid "$error" "$(ctable aes-xts-tcw sector_size:1024)"
    invalid "$error" "$(key=$KEY32 ctable "capi:ctr(aes)-eboiv")"
    invalid "$error" "$(ctable "capi:ctr(aes)-elephant")"
    # Too long a second half has no text.
    invalid "Unknown error" "$(key=$(key 96) ctable aes-cbc-elephant)"
    # Less than the IV mode takes for itself leaves nothing for the cipher.
    bad_key "$KEY32" aes-cbc-tcw
    bad_key "$(key 24)" aes-xts-tcw
}
test_oldest_form() {
    attach
    local v
    for v in aes aes-plain aes:1 aes:1-plain; do
        equal "$(shown "$(key=$KEY32 ctable $v)")" \
            "0 2048 $C $v $KEY32 0 $(majmin "$L0") 0"
    done
}
test_keys_that_are_counted() {
    attach
    local v
    # The low 32 bits count.
    equal "$(shown "$(key=$(key 32) ctable aes:4294967298-cbc-plain)")" \
        "0 2048 $C aes:4294967298-cbc-plain $(key 32) 0 $(majmin "$L0") 0"
    bad_key "$(key 24)" aes:2-cbc-plain
    # A part more is the seed.
    for v in 1024 1040 1041; do
        [[ $(shown "$(key=$(key $v) ctable aes:64-cbc-lmk)") == *" $(key $v) "* ]]
    done
    bad_key "$(key 1000)" aes:64-cbc-lmk
}
test_cipher_without_ivs() {
    attach
    local v
    for v in aes-ecb-plain aes-ecb-nonsense "capi:ecb(aes)-nonsense"; do
        log_mark
        equal "$(shown "$(key=$KEY32 ctable "$v")")" \
            "0 2048 $C $v $KEY32 0 $(majmin "$L0") 0"
        # C has the name of a header before it.
        log_has "device-mapper: crypt: Selected cipher does not support IVs$"
    done
}

ksft_main "$@"
