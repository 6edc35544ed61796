#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Dirty blocks are written when much of the cache is dirty, when memory is wanted, by
# others as well, and at the end. Nothing that is dirty is lost.
# Rows: B-03 B-24 B-25 B-26 B-27 B-28 B-32
# Modules: rdm
# Boot: --smp 2 --mem 512
# Time: 240

. "$(dirname "$0")/../lib/bufio.sh"
setup() { image $((16 << 20)); }

begin() { # block-size [limit]
    need_target
    attach
    defaults
    [ $# -eq 1 ] || set_param max_cache_size_bytes "$2"
    dm_create und "0 $((32 << 10)) linear $L0 0"
    screate t "$(dev und)" "$1" 2
}
# Writes some bytes of blocks.
some() { # bytes first last offset
    # shellcheck disable=SC2046
    steps t $(seq -f "f:%.0f:$4:$1" "$2" "$3")
}
# Fills blocks, wholly.
fill_blocks() { # block-size first last
    local size=$1 first=$2
    while [ "$first" -le "$3" ]; do
        some "$size" "$first" $((first + 499 < $3 ? first + 499 : $3)) 0
        first=$((first + 500))
    done
}
# All blocks have what was written.
check_lower() { # block-size first last
    python3 - "$DIR/data" "$@" <<'PYTHON'
import sys
path, size, first, last = sys.argv[1], *map(int, sys.argv[2:])
with open(path, "rb") as data:
    data.seek(first * size)
    for block in range(first, last + 1):
        if data.read(size) != bytes([block & 255]) * size:
            sys.exit(f"block {block} is not as it was written")
PYTHON
}
written() { writes_of und | cut -d ' ' -f 2; }

test_at_the_end() {
    begin 4096
    fill_blocks 4096 0 15
    equal "$(written)" 0 "sectors written before the end"
    dm_remove t
    check_lower 4096 0 15
    equal "$(current)" 0 "bytes in use"
}
test_in_the_background() {
    begin 4096
    fill_blocks 4096 0 499
    for _ in $(seq 50); do
        [ "$(written)" -lt 900 ] || break
        sleep 0.1
    done
    # A quarter of them, of 8 sectors each, but for the last few.
    [ "$(written)" -ge 900 ] || fail "only $(written) sectors were written"
    equal "$(reads_of und)" "0 0"
}
# Parts of blocks wait: they may yet become complete.
test_parts_are_not_read_for_the_background() {
    begin 4096
    some 64 0 99 32
    sleep 1
    equal "$(reads_of und) $(written)" "0 0 0"
    steps t S
    equal "$(reads_of und | cut -d ' ' -f 1)" 100
}
limited() { # block-size limit
    begin "$@"
    local last=$(((16 << 20) / $1 - 1)) most
    fill_blocks "$1" 0 $last
    most=$(param peak_allocated_bytes)
    # The reserve, and the buffer to read into.
    [ "$most" -le $(($2 + 3 * $1)) ] || fail "$most bytes in use with a limit of $2"
    steps t S
    check_lower "$1" 0 $last
    equal "$(reads_of und)" "0 0"
    defaults
}
test_limit_with_small_blocks() { limited 4096 $((256 << 10)); }
test_limit_with_large_blocks() { limited 65536 $((512 << 10)); }
test_limit_with_the_reserve_only() { limited 65536 1; }
# One who reads needs the memory that another's dirty blocks have.
test_another_client_wants_memory() {
    begin 4096 $((256 << 10))
    some 64 0 63 32
    bcreate r "$L0" 4096 1 around 16
    dd if="$(dev r)" of=/dev/null bs=64k count=32 iflag=direct status=none
    [ "$(current)" -le $(((256 << 10) + 4 * 4096)) ] || fail "$(current) bytes in use"
    steps t S
}
test_memory_pressure() {
    begin 16384 $((12 << 20))
    hog 300
    fill_blocks 16384 0 1023
    stop_hog
    steps t S
    check_lower 16384 0 1023
}

bufio_main "$@"
