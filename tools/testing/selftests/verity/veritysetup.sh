#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unmodified veritysetup: format, verify, open, status, dump, close, for pairs of block
# sizes, algorithms, salts, and formats. The short lane takes each value of each at
# least twice; the long one all combinations.
# Rows: V-13 V-14 V-16 V-17 V-70 V-71 V-72 V-74 V-76 T-12
# Time: 240

. "$(dirname "$0")/../lib/verity.sh"
LONGSALT=$(printf 'a5%.0s' {1..256})

setup() {
    # Not a multiple of what a hash block covers.
    random "$DIR/data" $((4096 * 145))
    echo "UUID=12345678-1234-1234-1234-123456789abc" >>"$DIR/vars"
}
tool() { # data block size, hash block size, algorithm, salt, format
    rm -f "$DIR/hash"
    truncate -s 2M "$DIR/hash"
    local how=(--data-block-size="$1" --hash-block-size="$2" --hash="$3" --salt="$4" --format="$5")
    say "${how[*]:0:3} salt ${#4} format $5"
    vformat "$DIR/data" "$DIR/hash" "${how[@]}" --uuid="$UUID"
    veritysetup verify "$DIR/data" "$DIR/hash" "$ROOT"
    veritysetup open "$DIR/data" ksft-v "$DIR/hash" "$ROOT"
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
    veritysetup status ksft-v >"$DIR/status"
    grep -q "type: *VERITY$" "$DIR/status"
    grep -q "status: *verified$" "$DIR/status"
    grep -q "hash type: *$5$" "$DIR/status"
    grep -q "data block: *$1$" "$DIR/status"
    grep -q "hash block: *$2$" "$DIR/status"
    grep -q "hash name: *$3$" "$DIR/status"
    grep -q "root hash: *$ROOT$" "$DIR/status"
    veritysetup dump "$DIR/hash" | grep -q "UUID: *.$UUID$"
    veritysetup close ksft-v
}
rows() { # combinations with a number of this remainder by 8
    local d h a s f n=0
    local salts=(- "$LONGSALT") algs=(sha1 sha256 sha512 sha384)
    for d in 512 1024 2048 4096; do
        for h in 512 1024 2048 4096; do
            n=$((n + 1))
            if [ -z "$LONG" ]; then
                # A Latin square of the algorithms; salts and formats in pairs.
                a=$(((d / 512 % 7 + h / 512 % 7 + n) % 4)) s=$((n / 2 % 2)) f=$(((n + n / 4) % 2))
                [ $((n % 4)) != "$1" ] || tool $d $h "${algs[a]}" "${salts[s]}" $f
                continue
            fi
            [ $((n % 4)) = "$1" ] || continue
            for a in "${algs[@]}"; do
                for s in "${salts[@]}"; do
                    for f in 0 1; do tool $d $h "$a" "$s" $f; done
                done
            done
        done
    done
}
test_hash_512() { rows 1; }
test_hash_1024() { rows 2; }
test_hash_2048() { rows 3; }
test_hash_4096() { rows 0; }

test_no_superblock() {
    truncate -s 1M "$DIR/plain"
    vformat "$DIR/data" "$DIR/plain" --no-superblock --salt=0123
    veritysetup open "$DIR/data" ksft-v "$DIR/plain" "$ROOT" --no-superblock --salt=0123
    [[ $(dm_table v) == *" 145 0 sha256 $ROOT 0123" ]]
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
    veritysetup close ksft-v
}
test_one_device() {
    cp "$DIR/data" "$DIR/both"
    truncate -s 1M "$DIR/both"
    vformat "$DIR/both" "$DIR/both" --hash-offset=$((145 * 4096)) --data-blocks=145
    veritysetup verify "$DIR/both" "$DIR/both" "$ROOT" --hash-offset=$((145 * 4096))
    veritysetup open "$DIR/both" ksft-v "$DIR/both" "$ROOT" --hash-offset=$((145 * 4096))
    [[ $(dm_table v) == *" 4096 4096 145 146 sha256 "* ]]
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
    veritysetup close ksft-v
}
test_options_of_the_tool() {
    truncate -s 1M "$DIR/hash"
    vformat "$DIR/data" "$DIR/hash"
    veritysetup open "$DIR/data" ksft-v "$DIR/hash" "$ROOT" --ignore-corruption \
        --ignore-zero-blocks --check-at-most-once --use-tasklets
    [[ $(dm_table v) == *" 4 ignore_corruption ignore_zero_blocks check_at_most_once try_"* ]]
    veritysetup status ksft-v | grep -q "flags: *ignore_corruption ignore_zero_blocks check_at_most"
    veritysetup close ksft-v
}
test_wrong_root_hash() {
    truncate -s 1M "$DIR/hash"
    vformat "$DIR/data" "$DIR/hash"
    fails "Verification of root hash failed" \
        veritysetup verify "$DIR/data" "$DIR/hash" "${ROOT//[0-9]/7}"
    veritysetup open "$DIR/data" ksft-v "$DIR/hash" "${ROOT//[0-9]/7}" >"$DIR/err" 2>&1 || :
    fails "Input/output error" read_direct "$(dev v)" 0
    veritysetup status ksft-v | grep -q "status: *corrupted"
    veritysetup close ksft-v
}

ksft_main "$@"
