#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Idle devices take nothing of the hash cache from a busy one.
# Rows: B-28; case B03 (without error correction)
# Boot: --disk 256M --disk 16M

. "$(dirname "$0")/../lib/verity.sh"
setup() {
    small_image
    declare -p ROOT SALT BLOCKS HBS | sed 's/^declare -- /declare -g S_/' >>"$DIR/vars"
    vformat /dev/vda /dev/vdb
    vkeep
}
reads() { awk '{ print $1 }' /sys/block/vdb/stat; }
# Reads of the hash device by the same random reads.
cost() {
    dmsetup suspend ksft-v
    dmsetup resume ksft-v
    local before
    before=$(reads)
    fio --name=r --filename="$(dev v)" --rw=randread --bs=4k --direct=1 --randseed=7 --size=256M \
        --io_size=3M --output=/dev/null
    echo $(($(reads) - before))
}
test_idle_devices() {
    local i alone together
    L0=/dev/vda L1=/dev/vdb
    vopen v
    # The tree has 2 MiB.
    trap 'echo 0 >$BUFIO/max_cache_size_bytes' EXIT
    echo 1048576 >"$BUFIO/max_cache_size_bytes"
    alone=$(cost)
    attach
    for ((i = 0; i < 20; i++)); do
        ROOT=$S_ROOT SALT=$S_SALT BLOCKS=$S_BLOCKS HBS=$S_HBS vopen "idle$i"
        read_direct "$(dev "idle$i")" 0
    done
    together=$(cost)
    say "reads of the hash device: $alone alone, $together with 20 idle devices"
    # Else nothing was evicted, and nothing could be seen.
    [ "$alone" -gt 30 ]
    [ "$together" -le $((alone * 110 / 100 + 2)) ]
}

ksft_main "$@"
