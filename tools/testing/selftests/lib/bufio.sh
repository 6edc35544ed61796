# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Devices whose data comes through the block cache, by the target bufio-test of a
# module for tests. What it reads is compared with the device below.

. "$(dirname "${BASH_SOURCE[0]}")/ksft.sh"

# Its module is not loaded with the others. It goes again, so that other tests can
# unload what it needs. Instead of ksft_main.
bufio_main() { # test...
    local status
    [ -e /sys/module/test_bufio ] || insmod "$RDM_DIR/test_bufio.ko" ||
        NO_TARGET="the module test_bufio cannot be loaded"
    # Not as a part of a condition, which would turn -e off in all of it.
    (ksft_main "$@")
    status=$?
    [ ! -e /sys/module/test_bufio ] || rmmod test_bufio || status=1
    return $status
}
need_target() { [ -z "${NO_TARGET:-}" ] || skip "$NO_TARGET"; }

param() { cat "$BUFIO/$1"; }
set_param() { echo "$2" >"$BUFIO/$1"; }
current() { param current_allocated_bytes; }

# Every test starts and ends with the defaults, and with nothing in any cache.
defaults() {
    set_param max_cache_size_bytes 0
    set_param retain_bytes 262144
    set_param peak_allocated_bytes 0
}

# Random data in $DIR/data, once for each file.
image() { # bytes
    random "$DIR/data" "$1"
}
# shellcheck disable=SC2034
attach() { L0=$(loop "$DIR/data"); }

# Two processes that take memory and give it back, until they are stopped. Sets HOG.
hog() { # MiB
    stress-ng --vm 2 --vm-bytes "$1M" --vm-method zero-one --temp-path "$DIR" --quiet &
    HOG=$!
}
# SIGTERM may be ignored where this runs.
stop() { # process...
    kill -9 "$@"
    wait "$@" 2>/dev/null || :
}
stop_hog() {
    kill -INT "$HOG"
    wait "$HOG" 2>/dev/null || :
}

# A device that reads through the cache: lower device, block size, buffers in
# reserve, then how it is used.
bcreate() { # name lower block-size reserved [word number]...
    local name=$1 lower=$2
    shift 2
    dm_create "$name" "0 $(sectors "$lower") bufio-test $lower 0 $*"
}

# What the device reads, and what it must be. Direct I/O, so that nothing but the
# cache that is tested keeps the data.
read_sum() { # device [chunk]
    dd if="$1" bs="${2:-64k}" iflag=direct status=none | sha256sum | cut -c1-64
}
same() { # device [chunk]
    equal "$(read_sum "$@")" "$(sum "$DIR/data")" "data of $1 in pieces of ${2:-64k}"
}

# Reads that a mapped device has sent down, and sectors: "requests sectors".
reads_of() { # name
    awk '{ print $1, $3 }' "/sys/dev/block/$(majmin "$(dev "$1")")/stat"
}

# A device whose writes are programs: lower device, block size, buffers in reserve.
# See store.py for the steps.
screate() { # name lower block-size reserved
    dm_create "$1" "0 $(sectors "$2") bufio-store $2 0 $3 $4"
}
steps() { # name step...
    local name=$1
    shift
    python3 "$KSFT_LIB/store.py" run "$(dev "$name")" "$@"
}
# Random programs: as many blocks as there are in the data.
store_random() { # name block-size seed steps [processes]
    local how=random
    [ $# -lt 5 ] || how=parallel
    python3 "$KSFT_LIB/store.py" $how "$(dev "$1")" "$DIR/data" "$2" \
        $(($(stat -c %s "$DIR/data") / $2)) "$3" "$4" ${5:+"$5"}
}
# What the file has from a byte on, as hexadecimal digits.
lower_bytes() { # offset count
    od -An -v -tx1 -j "$1" -N "$2" "$DIR/data" | tr -d ' \n'
}
# What "f" writes to a block.
filled() { # block count
    printf "%0.s$(printf %02x $(($1 & 255)))" $(seq "$2")
}

# Writes that a mapped device has sent down, and sectors: "requests sectors".
writes_of() { # name
    awk '{ print $5, $7 }' "/sys/dev/block/$(majmin "$(dev "$1")")/stat"
}
