#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# 8 readers of 512 MiB in 512 MiB of memory, with drop_caches and a memory hog: the right
# checksum each time, and the hash cache within its limit.
# Rows: B-24 B-27 B-28 B-30 B-34
# Images: random
# Boot: --smp 2 --mem 512
# Time: 300

. "$(dirname "$0")/../lib/verity.sh"

# The image is one of random bytes.
setup() {
    local salt
    salt=$(veritysetup dump /dev/vdb | sed -n 's/^Salt: *\t*//p')
    echo "ROOT=$(cat /cache/images/random.root) SALT=$salt BLOCKS=131072 DBS=4096 HBS=4096" \
        "VER=1 ALG=sha256 START=1" >"$DIR/vars"
}
reader() { # number
    # Each reads every eighth 16 MiB in turn, at its own place, and compares.
    local at=$(($1 * 4))
    while [ "$SECONDS" -lt "$END" ]; do
        cmp -n 16M -i $((at << 24)) "$(dev v)" /dev/vda || return 1
        at=$(((at + 5) % 32))
        echo >>"$DIR/rounds$1"
    done
}
test_readers() {
    local i pids=() limit peak
    L0=/dev/vda L1=/dev/vdb
    vopen v
    # A quarter of the tree.
    limit=1048576
    trap 'echo 0 >"$BUFIO/max_cache_size_bytes"' EXIT
    echo "$limit" >"$BUFIO/max_cache_size_bytes"
    echo 0 >"$BUFIO/peak_allocated_bytes"
    END=$((SECONDS + 40))
    [ -z "$LONG" ] || END=$((SECONDS + 300))
    for ((i = 0; i < 8; i++)); do
        reader $i &
        pids+=($!)
    done
    stress-ng --vm 1 --vm-bytes 200M --vm-method zero-one --timeout $((END - SECONDS)) \
        --temp-path "$DIR" --quiet &
    local hog=$!
    while [ "$SECONDS" -lt "$END" ]; do
        echo 3 >/proc/sys/vm/drop_caches
        sleep 2
    done
    for i in "${pids[@]}" $hog; do wait "$i"; done
    peak=$(cat "$BUFIO/peak_allocated_bytes")
    say "bufio limit $limit, peak $peak; $(cat "$DIR"/rounds* | wc -l) rounds"
    # The reserve and what is being read come on top.
    [ "$peak" -le $((limit + 2097152)) ]
    [ "$(cat "$DIR"/rounds* | wc -l)" -ge 8 ]
    equal "$(dm_status v)" "0 1048576 $T V -"
}

ksft_main "$@"
