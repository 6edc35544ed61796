#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Superblock, journal and tags on a device of their own; both are flushed.
# Needs: integrity
# Rows: I-03 I-12 I-43 I-48 I-63 I-85; case I08

. "$(dirname "$0")/../lib/integrity.sh"

flushes() { # device
    local stat
    read -r -a stat <"/sys/block/${1#/dev/}/stat"
    echo "${stat[15]}"
}
separate() { # mode
    blank L0 16M
    blank L1 4M
    meta=$L1 mode=$1 ifresh i internal_hash:crc32c "meta_device:$L1" block_size:4096
    equal "$(sectors "$(dev i)")" "$(sectors "$L0")"
    [[ $(dm_table i) == *" meta_device:$(majmin "$L1") block_size:4096 recalculate interleave"* ]]
    local data before_data before_meta
    before_data=$(flushes "$L0") before_meta=$(flushes "$L1")
    random "$DIR/new" 1M
    for data in 1 2 3 4 5 6 7 8; do
        write_direct "$DIR/new" "$(dev i)" seek=$((data * 20)) conv=fsync,notrunc
    done
    [ $(($(flushes "$L1") - before_meta)) -ge 8 ] || fail "no flushes of the metadata"
    [ "$1" = J ] || [ $(($(flushes "$L0") - before_data)) -ge 8 ] || fail "no flushes of the data"
    cmp -n 1048576 -i $((160 << 16)):0 "$(dev i)" "$DIR/new"
    dm_remove i
    # The data is where it belongs.
    [ "$(($(flushes "$L0") - before_data))" -ge 1 ] || fail "no flush of the data at all"
    cmp -n 1048576 -i $((160 << 16)):0 "$L0" "$DIR/new"
    meta=$L1 mode=$1 iopen i internal_hash:crc32c "meta_device:$L1" block_size:4096
    cat "$(dev i)" >/dev/null
    dm_remove i
}
test_direct() { separate D; }
test_journal() { separate J; }
test_bitmap() { separate B; }

ksft_main "$@"
