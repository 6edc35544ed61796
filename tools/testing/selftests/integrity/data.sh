#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is written is read, at once, from the disk, and after the device was opened anew, in each
# mode, with tags of different sizes, buffers, and blocks.
# Needs: integrity
# Time: 300
# Rows: I-05 I-09 I-13 I-45 I-46 I-47 I-48 I-49 I-60 I-61 I-65 I-66 I-69 I-78 I-80

. "$(dirname "$0")/../lib/integrity.sh"

# Random pieces at random places, of the volume and of a file; then both are compared.
scribble() { # name file [seed]
    python3 - "$(dev "$1")" "$2" "${3:-1}" <<'PY'
import mmap, os, random, sys
device, copy, seed = sys.argv[1:]
random.seed(int(seed))
with open(copy, "r+b") as f:
    size = f.seek(0, 2)
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    for n in range(150):
        sectors = random.choice((8, 8, 16, 24, 64, 128, 512))
        at = random.randrange(0, size - sectors * 512, 4096)
        buffer = mmap.mmap(-1, sectors * 512)
        if random.random() < 0.6:
            data = random.randbytes(sectors * 512)
            buffer.write(data)
            assert os.pwrite(fd, buffer, at) == sectors * 512
            f.seek(at)
            f.write(data)
        else:
            assert os.preadv(fd, [buffer], at) == sectors * 512
            f.seek(at)
            assert buffer[:] == f.read(sectors * 512), f"other data at {at}"
        if n % 30 == 29:
            os.fsync(fd)
PY
}
volume() { # mode [option...]
    blank L0 24M
    mode=$1 ifresh i "${@:2}"
    head -c $(($(sectors "$(dev i)") * 512)) "$(dev i)" >"$DIR/copy"
    scribble i "$DIR/copy"
    cmp "$(dev i)" "$DIR/copy"
    drop_caches
    cmp "$(dev i)" "$DIR/copy"
    equal "$(mismatches i)" 0
    dm_remove i
    mode=$1 iopen i "${@:2}" recalculate
    cmp "$(dev i)" "$DIR/copy"
    equal "$(mismatches i)" 0
    dm_remove i
}
test_direct() { volume D internal_hash:crc32c fix_padding; }
test_direct_small_buffers() { volume D internal_hash:sha1 buffer_sectors:1; }
# With buffers larger than the run of data, C writes tags over data.
test_direct_long_tags() {
    tag=67 volume D internal_hash:sha256 interleave_sectors:64 buffer_sectors:8
}
test_journal() { volume J internal_hash:crc32c fix_padding; }
test_journal_small() { volume J internal_hash:sha256 journal_sectors:1 block_size:4096; }
test_journal_short_tags() { tag=3 volume J internal_hash:sha256 commit_time:20; }
test_bitmap() { volume B internal_hash:sha512 sectors_per_bit:64 bitmap_flush_interval:50; }
test_bitmap_blocks() { volume B internal_hash:crc32c block_size:4096 fix_hmac; }

# A table of another mode does for the same volume.
test_modes() {
    blank L0 24M
    mode=J ifresh i internal_hash:crc32c
    random "$DIR/new" 4M
    for m in J D B D J B J; do
        [ -e "$(dev i)" ] || mode=$m iopen i internal_hash:crc32c recalculate
        write_direct "$DIR/new" "$(dev i)" conv=fsync
        cmp -n 4194304 "$DIR/new" "$(dev i)"
        dm_remove i
        mode=R iopen i internal_hash:crc32c
        cmp -n 4194304 "$DIR/new" "$(dev i)"
        fails "Input/output error" write_direct "$DIR/new" "$(dev i)"
        dm_remove i
        random "$DIR/new" 4M
    done
}

ksft_main "$@"
