#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Aligned sequential writes: how often tags are read that are about to be overwritten. C reads
# each buffer of tags once, whatever the mode (case I01); ours does not read any. In mode J, blocks
# whose sector of tags is not complete yet stay in the journal for that. Random writes: each
# buffer is read once at most, as in C.
# Rows: I-09 B-17
# Needs: integrity
# Time: 300

. "$(dirname "$0")/../lib/volumes.sh"

check() { # reads, reads of C, what
    say "$3: $1"
    if [ "$RDM_MODULES" != c ]; then
        equal "$1" 0 "$3"
    elif [[ $3 != J* ]]; then
        equal "$1" "$2" "$3"
    else
        # A buffer that is still there from the section of the journal before is not read again.
        if [ "$1" -gt "$2" ] || [ "$1" -lt $(($2 * 3 / 4)) ]; then
            fail "$3: $1, and not about $2"
        fi
    fi
}
# 8 MiB in pieces of 64 KiB, each of which fills a sector of tags if blocks have 512 bytes.
reads_are() { # mode block size, then buffer sectors and what C reads for them...
    local mode=$1 block=$2 before after buffers
    shift 2
    L=$(empty d 160)
    local layout=(internal_hash:crc32c "block_size:$block")
    [ "$1" = default ] || layout+=("interleave_sectors:65536" fix_padding)
    wipe='' tformat "$L" "$mode" "${layout[@]}"
    while [ $# -gt 0 ]; do
        buffers=()
        [ "$1" = default ] || buffers=("buffer_sectors:$1")
        topen v "$L" "$mode" "${layout[@]}" "${buffers[@]}"
        before=$(asked "$L" 1)
        dd if=/dev/zero of="$(dev v)" bs=64k count=128 oflag=direct conv=fsync status=none
        after=$(asked "$L" 1)
        dm_remove v
        check $((after - before)) "$2" "$mode, blocks of $block, buffers of $1: reads"
        shift 2
    done
}
test_journal() { reads_are J 512 1 128 8 16 128 1; }
test_bitmap() { reads_are B 512 1 128 8 16 128 1; }
test_direct() { reads_are D 512 1 128 8 16 128 1; }
test_journal_blocks_of_4096() { reads_are J 4096 1 16 8 2 128 1; }
test_bitmap_blocks_of_4096() { reads_are B 4096 1 16 8 2 128 1; }
test_direct_blocks_of_4096() { reads_are D 4096 1 16 8 2 128 1; }
test_default_settings() {
    local mode
    for mode in J B D; do
        reads_are $mode 512 default 1
        reads_are $mode 4096 default 1
    done
}
# 300 blocks of 4 KiB, most of which share a buffer of tags with others, but not a sector.
random_reads_are() { # mode
    local before after buffers
    L=$(empty d 160)
    wipe='' tformat "$L" "$1" internal_hash:crc32c
    topen v "$L" "$1" internal_hash:crc32c
    buffers=$((($(blockdev --getsz "$(dev v)") + 16383) / 16384))
    before=$(asked "$L" 1)
    fsync_writes "$(dev v)" 300
    dmsetup suspend ksft-v
    after=$(asked "$L" 1)
    dmsetup resume ksft-v
    dm_remove v
    say "$1: $((after - before)) reads of $buffers buffers"
    [ $((after - before)) -le $buffers ] || fail "$1: $((after - before)) reads"
    [ $((after - before)) -gt $((buffers / 2)) ] || fail "$1: no partly written buffers"
}
test_random_writes() {
    local mode
    for mode in J B D; do random_reads_are $mode; done
}

ksft_main "$@"
