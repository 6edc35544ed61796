#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Blocks whose tags are wrong: an error for the reader, counted and logged, for these blocks only.
# Needs: integrity
# Time: 240
# Rows: I-36 I-49 I-67 I-70 I-71 X-19; cases I06 I15 I18

. "$(dirname "$0")/../lib/integrity.sh"

# Damages a sector of the volume with a known content, wherever that is.
marked() { # name sector
    printf 'ksft-mark-%s-' "$2" | head -c 512 >"$DIR/mark"
    truncate -s 512 "$DIR/mark"
    bs=512 write_direct "$DIR/mark" "$(dev "$1")" seek="$2"
}
place() { # sector of the volume: its byte in the image
    LC_ALL=C grep -abo -m 1 "ksft-mark-$1-" "$(image L0)" | head -n 1 | cut -d: -f1
}
damaged() { # mode [option...]
    blank L0 24M
    mode=$1 ifresh i "${@:2}"
    marked i 1000
    dmsetup suspend ksft-i
    dmsetup resume ksft-i
    sync "$(image L0)"
    log_mark
    flip "$(image L0)" "$(place 1000)"
    echo 1 >/proc/sys/vm/drop_caches
    fails "Invalid or incomplete multibyte" read_direct "$(dev i)" 1000 512
    fails "Invalid or incomplete multibyte" read_direct "$(dev i)" 992 512 64
    read_direct "$(dev i)" 999 512
    read_direct "$(dev i)" 1001 512 64
    equal "$(mismatches i)" 2
    log_has "^$PREFIX: $(disk i): Checksum failed at sector 0x3e8$"
    # Written anew, it is well.
    marked i 1000
    read_direct "$(dev i)" 992 512 64
    equal "$(mismatches i)" 2
    dm_remove i
    # In recovery mode nothing is checked.
    flip "$(image L0)" "$(place 1000)"
    mode=R iopen i "${@:2}"
    read_direct "$(dev i)" 1000 512
    dm_remove i
}
test_direct() { damaged D internal_hash:crc32c; }
test_direct_straddling_tags() { damaged D internal_hash:sha1 buffer_sectors:1; }
test_direct_with_discards() { damaged D internal_hash:sha1 buffer_sectors:1 allow_discards; }
test_journal() { damaged J internal_hash:sha256; }
test_bitmap() { damaged B internal_hash:crc32c sectors_per_bit:8 bitmap_flush_interval:20; }

# Never written, and never computed.
test_no_tags() {
    blank L0 24M
    iformat internal_hash:crc32c
    iopen i internal_hash:crc32c
    fails "Invalid or incomplete multibyte" read_direct "$(dev i)" 0
    equal "$(mismatches i)" 1
    dm_remove i
}

ksft_main "$@"
