#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Inline mode: the disk keeps a tag for each block. What C has written is read by ours and the other
# way round, and is the same, data and tags.
# Boot: --smp 2 --nvme 20M,ms=64 --nvme 20M,ms=16,logical_block_size=4096,physical_block_size=4096
# Rows: I-29 I-33 I-37 I-49 I-58 I-70 I-75 I-81 I-82 I-83
# Needs: integrity
# Time: 480

. "$(dirname "$0")/../lib/volumes.sh"

# The disk with so many bytes of metadata: D, B the bytes of its blocks, M those of metadata.
nvme_disk() { # metadata
    local sys
    for sys in /sys/block/nvme*n1; do
        [ "$(cat "$sys/metadata_bytes")" = "$1" ] || continue
        D=/dev/${sys##*/} B=$(cat "$sys/queue/logical_block_size") M=$1
        return
    done
    fail "no disk with $1 bytes of metadata"
}
nvme_disk 64
nvme() { python3 -B "$KSFT_LIB/nvme.py" "$1" "$D" "$2" "$B" "$M" "${@:3}"; }
blank() { dd if=/dev/zero of="$D" bs=4k count=1 oflag=direct status=none; }
# A volume for which everything that is written is written by one target.
fresh() { # option...
    blank
    tformat "$D" I "$@"
}
load() { # device seed: the same writes each time
    python '
import mmap, os, random
rng, buffer = random.Random(int(sys.argv[2])), mmap.mmap(-1, 256 * 4096)
fd = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
blocks = os.lseek(fd, 0, os.SEEK_END) // 4096
for i in range(40):
    count = rng.choice([1, 1, 1, 2, 8, 64, 255])
    buffer[:count * 4096] = rng.randbytes(count * 4096)
    part = memoryview(buffer)[:count * 4096]
    os.pwritev(fd, [part], rng.randrange(blocks - count) * 4096)
' "$@"
}
moved() { # option...
    local maker opener want data
    for maker in ${TARGETS//,/ }; do
        target=$maker fresh "$@"
        target=$maker topen v "$D" I "$@"
        load "$(dev v)" 5
        data=$(sha256sum <"$(dev v)")
        dm_remove v
        # Data and tags are the same whoever has written them.
        want=${want:-$(nvme sum $((4096 / B)) 2000)}
        equal "$(nvme sum $((4096 / B)) 2000)" "$want" "$maker, $*"
        for opener in ${TARGETS//,/ }; do
            target=$opener topen v "$D" I "$@"
            equal "$(bad_sectors "$(dev v)")" "" "$maker to $opener, $*"
            equal "$(sha256sum <"$(dev v)")" "$data" "$maker to $opener, $*"
            equal "$(mismatches v)" 0
            dm_remove v
        done
    done
}
test_moved() { moved internal_hash:sha1; }
test_moved_truncated_tags() { tag=9 moved internal_hash:sha256; }
test_moved_padded_tags() { tag=50 moved internal_hash:crc32c; }
test_moved_blocks() {
    nvme_disk 16
    # The digest is longer than what the disk keeps.
    tag=16 moved internal_hash:sha256 block_size:4096
    tag=7 moved internal_hash:crc32c block_size:4096
}
test_layout() {
    tag=9 fresh internal_hash:sha256
    tag=9 topen v "$D" I internal_hash:sha256
    printf 'data%.0s' {1..128} | dd of="$(dev v)" bs=512 count=1 oflag=direct status=none
    dm_remove v
    # The tag, what is left of the digest, and zeroes.
    local want
    want=$( (printf '\0%.0s' {1..8}; printf 'data%.0s' {1..128}) | sha256sum | cut -c1-64)
    equal "$(nvme metadata 8)" "$want$(printf '00%.0s' {1..32})"
}
test_damaged() {
    local at
    for at in 77 515; do
        fresh internal_hash:sha1
        topen v "$D" I internal_hash:sha1
        load "$(dev v)" 6
        nvme flip $((8 + 100)) "$at"
        log_mark
        equal "$(bad_sectors "$(dev v)")" 100 "byte $at"
        log_has "integrity: ${D#/dev/}: Checksum failed at sector 0x64"
        [ "$(mismatches v)" -ge 1 ] || fail "no mismatch was counted"
        # What is written anew is right.
        dd if=/dev/urandom of="$(dev v)" bs=512 seek=100 count=1 oflag=direct status=none
        equal "$(bad_sectors "$(dev v)")" ""
        dm_remove v
    done
}
test_elsewhere() {
    # Data and tag of another place.
    fresh internal_hash:sha1 fix_hmac
    topen v "$D" I internal_hash:sha1
    load "$(dev v)" 7
    # With the salt of another volume, no tag is right.
    dm_remove v
    blank
    wipe='' tformat "$D" I internal_hash:sha1 fix_hmac
    topen v "$D" I internal_hash:sha1 fix_hmac
    ! dd if="$(dev v)" of=/dev/null bs=4k count=1 iflag=direct status=none 2>/dev/null ||
        fail "tags without the salt"
    dm_remove v
}
test_recalculation() {
    blank
    dd if=/dev/urandom of="$D" bs=64k seek=1 count=100 oflag=direct status=none
    wipe='' tformat "$D" I internal_hash:sha1 recalculate
    topen v "$D" I internal_hash:sha1 recalculate
    load "$(dev v)" 8 &
    recalculated v
    wait
    equal "$(bad_sectors "$(dev v)")" ""
    equal "$(mismatches v)" 0
    dm_remove v
    # All are known to be right from then on.
    topen v "$D" I internal_hash:sha1
    recalculated v
    nvme flip 50 9
    equal "$(bad_sectors "$(dev v)")" 42
    dm_remove v
    topen v "$D" I internal_hash:sha1 reset_recalculate
    recalculated v
    equal "$(bad_sectors "$(dev v)")" ""
}
test_large() {
    fresh internal_hash:sha1
    topen v "$D" I internal_hash:sha1
    dd if=/dev/urandom of="$DIR/data" bs=1M count=8 status=none
    dd if="$DIR/data" of="$(dev v)" bs=4M oflag=direct status=none
    dd if="$(dev v)" bs=8M count=1 iflag=direct status=none | cmp - "$DIR/data"
    echo 3 >/proc/sys/vm/drop_caches
    head -c 8M "$(dev v)" | cmp - "$DIR/data"
}
test_flush() {
    fresh internal_hash:sha1
    topen v "$D" I internal_hash:sha1
    local before
    before=$(asked "$D" 16)
    fsync_writes "$(dev v)" 5
    [ "$(asked "$D" 16)" -ge $((before + 5)) ] || fail "no flushes"
}
test_limits() {
    local queue
    fresh internal_hash:sha1
    topen v "$D" I internal_hash:sha1
    queue=/sys/dev/block/$(majmin "$(dev v)")/queue
    equal "$(cat "$queue/stable_writes")" 1
    equal "$(cat "$queue/discard_max_bytes")" 0
    equal "$(cat "$queue/dma_alignment")" 511
    equal "$(dm_table v | cut -d' ' -f1-2,4-)" \
        "0 $(provided "$D") $(majmin "$D") 0 20 I 2 buffer_sectors:128 internal_hash:sha1"
}
refused() { # text table
    local to
    for to in ${TARGETS//,/ }; do
        log_mark
        ! dmsetup create ksft-r 2>/dev/null --table "$(length=8 target=$to itable "${@:2}")" ||
            fail "$to took ${*:2}"
        log_has "integrity: $1 \(-EINVAL\)"
    done
}
test_refused() {
    blank
    refused "Metadata device not supported in inline mode" "$D" I meta_device:"$D" \
        internal_hash:sha1
    tag=20 refused "Internal hash not set in inline mode" "$D" I
    refused "Journal crypt not supported in inline mode" "$D" I internal_hash:sha1 journal_mac:sha1
    refused "Journal crypt not supported in inline mode" "$D" I internal_hash:sha1 \
        "journal_crypt:ctr(aes):$(printf %032d 1)"
    refused "Discards not supported in inline mode" "$D" I internal_hash:sha1 allow_discards
    tag=65 refused "The integrity profile is smaller than tag size" "$D" I internal_hash:sha1
    refused "Integrity profile sector size mismatch" "$D" I internal_hash:sha1 block_size:4096
    refused "Integrity profile not supported" "$(empty d 1)" I internal_hash:sha1
    fresh internal_hash:sha1
    refused "Inline flag mismatch" "$D" D internal_hash:sha1
    blank
    tformat "$D" D internal_hash:sha1
    refused "Inline flag mismatch" "$D" I internal_hash:sha1
}

both_main "$@"
