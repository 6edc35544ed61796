#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Module parameters: defaults, modes, writes while devices are read.
# Rows: V-66 V-67 V-68

. "$(dirname "$0")/../lib/verity.sh"
setup() { small_image; }
P=/sys/module/$VERITY_MODULE/parameters

parameter() { # name, value, mode
    equal "$(cat "$P/$1")" "$2" "$1"
    equal "$(stat -c %a "$P/$1")" "$3" "mode of $1"
}
test_defaults() {
    parameter prefetch_cluster 262144 644
    parameter use_bh_bytes 8192,8192,8192,0 644
    parameter require_signatures N 444
    parameter keyring_unsealed N 444
}
test_prefetch_cluster() {
    attach
    vopen v
    local n
    for n in 0 1 4096 12345 1048576 4294967295; do
        echo "$n" >"$P/prefetch_cluster"
        equal "$(cat "$P"/prefetch_cluster)" "$n"
        dmsetup suspend ksft-v
        dmsetup resume ksft-v
        drop_caches
        equal "$(sum "$(dev v)")" "$(sum "$DIR/data")" "with $n"
    done
    fails "Invalid argument" eval "echo x >$P/prefetch_cluster"
    echo 262144 >"$P/prefetch_cluster"
}
test_use_bh_bytes() {
    attach
    vopen v try_verify_in_tasklet
    echo 0,65536,4096,1 >"$P/use_bh_bytes"
    equal "$(cat "$P"/use_bh_bytes)" 0,65536,4096,1
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
    fails "Invalid argument" eval "echo 1,2,3,4,5 >$P/use_bh_bytes"
    # A shorter list changes how many are shown.
    echo 8192,8192,8192,0 >"$P/use_bh_bytes"
}

ksft_main "$@"
