#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tags that straddle two buffers, and tags shorter and longer than the digest.
# Rows: I-04 I-23 I-47 I-49 I-59 I-70
# Needs: integrity

. "$(dirname "$0")/../lib/volumes.sh"

# Damages some sectors, some of whose tags cross the end of a buffer, and says which (case I06).
straddling() { # option...
    local options=(internal_hash:sha1 buffer_sectors:1 "$@") first s
    L=$(empty d 2)
    tformat "$L" D "${options[@]}"
    topen v "$L" D "${options[@]}"
    dd if=/dev/urandom of="$(dev v)" bs=64k count=16 oflag=direct conv=fsync status=none
    printf %-512s ksft-first-sector | dd of="$(dev v)" bs=512 oflag=direct conv=fsync status=none
    dm_remove v
    first=$(offset_of "$DIR/d" ksft-first-sector)
    for s in 1 24 25 26 50 51 76 77 127 128 255 511 512 1024 1999; do
        flip "$DIR/d" $((first + s * 512 + s % 512))
    done
    topen v "$L" D "${options[@]}"
    # The volume has zeroes after the first MiB.
    equal "$(bad_sectors "$(dev v)")" "1 24 25 26 50 51 76 77 127 128 255 511 512 1024 1999"
}
test_straddling() { straddling; }
test_straddling_with_discards() { straddling allow_discards; }

# The first bytes of the digest, and nothing but zeroes after it (case I10), computed here again.
tags_of_size() { # bytes [mode]
    local layout=(internal_hash:sha256 interleave_sectors:1024 fix_padding)
    L=$(empty d 3)
    wipe='' tag=$1 tformat "$L" D "${layout[@]}"
    tag=$1 topen v "$L" D "${layout[@]}" recalculate
    recalculated v
    equal "$(bad_sectors "$(dev v)")" "" "after recalculation: bad sectors"
    dd if=/dev/urandom of="$(dev v)" bs=4k seek=8 count=4 oflag=direct conv=fsync status=none
    printf %-512s ksft-first-sector | dd of="$(dev v)" bs=512 oflag=direct conv=fsync status=none
    dm_remove v
    python '
import hashlib, struct
image, size = open(sys.argv[1], "rb").read(), int(sys.argv[2])
data = image.rindex(b"ksft-first-sector")
tags = data - (size * 1024 + 4095) // 4096 * 4096
for s in range(128):
    sector = image[data + s * 512:][:512]
    digest = hashlib.sha256(struct.pack("<Q", s) + sector).digest()
    want = (digest + bytes(255))[:size]
    if image[tags + s * size:][:size] != want:
        sys.exit(f"tag of sector {s} is not the digest cut or filled to {size} bytes")
' "$DIR/d" "$1"
}
test_sizes() {
    local n
    for n in 1 4 31 32 33 64 255; do tags_of_size $n; done
}

ksft_main "$@"
