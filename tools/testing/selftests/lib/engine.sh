# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Ciphers that work asynchronously, by the simulated engine of the module test_engine: tests of a
# target for bios, or for requests.

. "$(dirname "${BASH_SOURCE[0]}")/crypt.sh"

# shellcheck disable=SC2034
KSFT_SHARED=${BASH_SOURCE[0]}
# What has the other side of a comparison.
PLAIN=$C
ENGINE=/sys/module/test_engine/parameters
set_engine() { # parameter value...
    while [ $# -gt 0 ]; do
        echo "$2" >"$ENGINE/$1"
        shift 2
    done
}
engine() { cat "$ENGINE/$1"; }

# The module needs the crate, which is not loaded where the targets are C's.
engine_main() { # test...
    local status dir=$RDM_DIR crate=
    [ -d "$dir" ] || dir=/rdm/build
    if [ ! -e /sys/module/rdm ]; then
        insmod "$dir/rdm.ko" && crate=1
    fi
    insmod "$dir/test_engine.ko" || NO_ENGINE="the module test_engine cannot be loaded"
    # Not as a part of a condition, which would turn -e off in all of it.
    (ksft_main "$@")
    status=$?
    rmmod test_engine || status=1
    [ -z "$crate" ] || rmmod rdm || status=1
    return $status
}
start() {
    [ -z "${NO_ENGINE:-}" ] || skip "$NO_ENGINE"
    set_engine depth 16 request_ns 1000 byte_ps 0 fail_after 0 refuse_after 0
    set_engine requests 0 most 0 delayed 0 idle 0
    attach
}
verify() { # name [fio option...]
    local name=$1
    shift
    fio --name=v --filename="$(dev "$name")" --direct=1 --size=1M --ioengine=libaio \
        --iodepth=16 --verify=crc32c --minimal "$@" >"$DIR/fio" 2>&1 || fail "$(cat "$DIR/fio")"
}
block() { # file 4KiB-block: its checksum
    dd if="$1" bs=4k skip="$2" count=1 status=none "${@:3}" | sha256sum
}

# What the engine writes is what a synchronous cipher reads, and the other way round.
both_ways() { # cipher-of-engine cipher
    start
    random "$DIR/data" $((SIZE * 512))
    copen e "${@:3}" "$1"
    write_direct e "$DIR/data" 64k
    equal "$(read_sum "$(dev e)" 128k)" "$(sum "$DIR/data")"
    dm_remove e
    target=$PLAIN copen p "$2"
    equal "$(read_sum "$(dev p)" 64k)" "$(sum "$DIR/data")"
    [ "$(engine requests)" -ge $((SIZE * 2)) ] || fail "$(engine requests) requests"
}
test_xts() { both_ways capi:xts-aes-engine-plain64 aes-xts-plain64; }
test_cbc() { key=$KEY32 both_ways capi:cbc-aes-engine-plain64 aes-cbc-plain64; }
test_null_vector() { key=$KEY32 both_ways capi:cbc-aes-engine-null aes-cbc-null; }

test_flags() {
    local flags
    for flags in "sector_size:4096" "no_read_workqueue no_write_workqueue" \
        "same_cpu_crypt submit_from_crypt_cpus"; do
        start
        # shellcheck disable=SC2086
        copen f capi:xts-aes-engine-plain64 $flags
        verify f --rw=randrw --bsrange=4k-64k
        dm_remove f
        losetup -d "$L0"
    done
}
# One bio has many sectors under way, as many as the engine takes.
test_in_flight() {
    start
    set_engine depth 64 request_ns 200000
    copen m capi:xts-aes-engine-plain64
    dd if=/dev/zero of="$(dev m)" bs=64k count=1 oflag=direct status=none
    [ "$(engine most)" -ge 64 ] || fail "no more than $(engine most) requests under way"
}
# While sectors wait, the engine is not idle.
test_never_idle() {
    start
    set_engine request_ns 200000
    copen i capi:xts-aes-engine-plain64
    fio --name=i --filename="$(dev i)" --direct=1 --size=1M --ioengine=libaio --iodepth=32 \
        --rw=randread --bs=4k --minimal >"$DIR/fio" 2>&1 || fail "$(cat "$DIR/fio")"
    [ "$(engine requests)" -ge $SIZE ]
    [ "$(engine idle)" -le 20 ] || fail "idle $(engine idle) times in $(engine requests) requests"
}
test_full_queue() {
    start
    set_engine depth 1
    copen q capi:xts-aes-engine-plain64
    verify q --rw=randrw --bsrange=512-64k --numjobs=1
    [ "$(engine delayed)" -gt 100 ] || fail "$(engine delayed) requests had to wait"
}

# Eight reads at a time, in which one sector fails: one of them does, and only that.
one_of_eight() { # fail_after|refuse_after
    local n pids=() failed=0
    start
    random "$DIR/data" $((SIZE * 512))
    copen o capi:xts-aes-engine-plain64
    write_direct o "$DIR/data" 64k
    # The engine is behind with the first when all are there.
    set_engine request_ns 3000000 "$1" 21
    for n in {0..7}; do
        dd if="$(dev o)" of="$DIR/$n" bs=4k skip="$n" count=1 iflag=direct status=none \
            2>"$DIR/err.$n" &
        pids+=($!)
    done
    for n in {0..7}; do
        if wait "${pids[$n]}"; then
            equal "$(block "$DIR/$n" 0)" "$(block "$DIR/data" "$n")" "block $n"
        else
            failed=$((failed + 1))
            grep -q "Input/output error" "$DIR/err.$n"
        fi
    done
    equal "$failed" 1 "reads that failed"
    set_engine request_ns 1000
    equal "$(read_sum "$(dev o)" 64k)" "$(sum "$DIR/data")" "what is read afterwards"
}
test_error() { one_of_eight fail_after; }
test_refusal() { one_of_eight refuse_after; }

# A write that is not encrypted does not reach the device.
test_write_error() {
    local before parameter
    start
    random "$DIR/data" 65536
    copen w capi:xts-aes-engine-plain64
    before=$(below)
    for parameter in fail_after refuse_after; do
        set_engine $parameter 77
        fails "Input/output error" write_direct w "$DIR/data" 64k
        equal "$(engine $parameter)" 0
        equal "$(below)" "$before" "what is below after a $parameter"
    done
    write_direct w "$DIR/data" 64k
    [ "$(below)" != "$before" ]
}
# A suspend waits for all that is under way, and what comes later waits for the resume.
test_suspend() {
    local writer before
    start
    set_engine depth 4
    random "$DIR/data" $((SIZE * 512))
    copen s capi:xts-aes-engine-plain64
    set_engine request_ns 500000 requests 0
    dd if="$DIR/data" of="$(dev s)" bs=64k oflag=direct status=none &
    writer=$!
    sleep 0.2
    dmsetup suspend ksft-s
    before=$(engine requests)
    sleep 0.2
    equal "$(engine requests)" "$before" "requests after the suspend"
    [ $((before % 128)) = 0 ] || fail "$before sectors are no whole bios"
    [ "$before" -gt 0 ]
    [ "$before" -lt $SIZE ] || fail "all was written before the suspend"
    set_engine request_ns 1000
    dmsetup resume ksft-s
    wait $writer
    equal "$(read_sum "$(dev s)" 64k)" "$(sum "$DIR/data")"
}
test_remove_after_load() {
    start
    set_engine request_ns 100000
    copen r capi:xts-aes-engine-plain64
    dd if=/dev/zero of="$(dev r)" bs=64k count=4 status=none
    dm_remove r
}
