#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The target for requests: the same cipher text, merging, flushes, errors, devices that have no
# room, suspends, and what it refuses.
# Rows: C-08 C-18 C-22 C-23 C-35 C-38 C-39 C-40 C-53 C-61 C-62 C-63 C-68
# Modules: rdm
# Boot: --disk 32M --mem 768
# Time: 240

. "$(dirname "$0")/../lib/crypt.sh"
SIZE=16384
Q=rcrypt-rq
C=$Q

setup() {
    modprobe -q null_blk nr_devices=0
    modprobe -q mq-deadline
    mount -t configfs none /sys/kernel/config 2>/dev/null || :
    random "$DIR/data" $((1024 * 512))
    random "$DIR/other" $((1024 * 512))
}
# The C target needs its name: ours is unloaded, and comes again without it.
both_targets() {
    rmmod rdm_crypt && modprobe dm-crypt && insmod "$RDM_DIR/rdm_crypt.ko"
}

# A device that takes requests, 8 MiB, with a scheduler.
null() { # [setting=value...]
    local n=/sys/kernel/config/nullb/ksft-n s
    mkdir $n
    for s in memory_backed=1 size=8 discard=1 max_sectors=2560 "$@" power=1; do
        echo "${s#*=}" >"$n/${s%%=*}"
    done
    L0=/dev/nullb$(<$n/index)
    [ -b "$L0" ] || L0=/dev/ksft-n
    echo mq-deadline >"/sys/block/${L0#/dev/}/queue/scheduler"
}
# The field of a stat file, which are counted from 1.
stat_of() { # device field
    awk -v n="$2" '{ print $n }' "/sys/dev/block/$(majmin "$1")/stat"
}
verify() { # name [fio option...]
    local name=$1
    shift
    fio --name=v --filename="$(dev "$name")" --direct=1 --size=4M --ioengine=libaio \
        --iodepth=32 --iodepth_batch=16 --verify=crc32c --minimal "$@" >"$DIR/fio" 2>&1 ||
        fail "$(cat "$DIR/fio")"
}
reads() { # name file text
    dd if="$(dev "$1")" bs=64k count=8 iflag=direct status=none | cmp - "$2" || fail "$3"
}

# C and requests over one device: each reads what the other has written.
same_text() { # cipher [option...]
    target=crypt copen c "$@"
    copen q "$@"
    write_direct c "$DIR/data" 64k
    reads q "$DIR/data" "$*: not what C wrote"
    dd if="$DIR/other" of="$(dev q)" bs=16k conv=fsync status=none
    reads c "$DIR/other" "$*: C reads something else"
    verify q --rw=randrw --bsrange=4k-256k --size=2M
    dmsetup remove ksft-c ksft-q
}
test_same_text_on_a_virtio_disk() {
    L0=/dev/vda
    same_text aes-xts-plain64
    same_text aes-xts-plain64 sector_size:4096 iv_large_sectors
    same_text aes-xts-plain64 no_read_workqueue no_write_workqueue
}
test_same_text_on_a_null_device() {
    null irqmode=2 completion_nsec=10000
    same_text aes-xts-plain64
    same_text aes-xts-plain64 no_read_workqueue no_write_workqueue
    start=64 size=8192 iv_offset=24 key=$KEY64 same_text aes:2-cbc-plain64
}
# Modes that always go to a thread, over a device whose requests a thread does.
test_same_text_on_a_loop_device() {
    attach
    same_text aes-xts-tcw
    key=$KEY32 same_text aes-cbc-essiv:sha256 same_cpu_crypt
}
test_status() {
    attach
    copen q aes-xts-plain64 allow_discards sector_size:4096
    equal "$(dmsetup table --showkeys ksft-q)" \
        "$(device=$(majmin "$L0") ctable aes-xts-plain64 allow_discards sector_size:4096)"
    equal "$(dm_status q)" "0 $SIZE $Q "
    dmsetup suspend ksft-q
    dmsetup message ksft-q 0 key wipe
    fails "Resource temporarily unavailable" dmsetup resume ksft-q
    dmsetup message ksft-q 0 key set "$KEY64"
    dmsetup resume ksft-q
}

# Blocks that are there at once become one request of the device below.
test_neighbours_are_merged() {
    null
    copen q aes-xts-plain64
    local before after
    before=$(stat_of "$L0" 1)
    equal "$(python3 "$KSFT_LIB/aio.py" "$(dev q)" 0 16)" ""
    after=$(stat_of "$L0" 1)
    [ $((after - before)) -le 2 ] || fail "16 blocks took $((after - before)) requests"
}
# What the device below gets while a command runs: R, W, D, or F, and flags such as S, or F for FUA.
issued() { # command...
    local tracing=/sys/kernel/tracing events
    events=$tracing/events/block/block_rq_issue
    mount -t tracefs none $tracing 2>/dev/null || :
    echo >$tracing/trace
    echo "dev == $(python3 -c "import os
d = os.stat('$L0').st_rdev
print(os.major(d) << 20 | os.minor(d))")" >$events/filter
    echo 1 >$events/enable
    "$@"
    echo 0 >$events/enable
    sed -n 's/.*block_rq_issue: [0-9,]* \([A-Z]*\) .*/\1/p' $tracing/trace
}
test_flush() {
    L0=/dev/vda
    copen q aes-xts-plain64
    equal "$(queue q write_cache)" "write back"
    equal "$(issued dd if="$DIR/data" of="$(dev q)" bs=64k conv=fsync status=none |
        grep -cE "^F+$")" 1
}
# A write that is to reach the medium says so below, and is not followed by a flush.
test_fua() {
    null cache_size=4
    copen q aes-xts-plain64
    equal "$(queue q fua)" 1
    local seen
    seen=$(issued dd if="$DIR/data" of="$(dev q)" bs=4k count=1 oflag=direct,dsync status=none)
    [[ $seen == WF* ]] || fail "the device got '$seen'"
}
test_discard() {
    null
    copen d aes-xts-plain64 allow_discards
    verify d --rw=write --bs=4k
    blkdiscard -o 1M -l 1M "$(dev d)"
    equal "$(dd if="$L0" bs=1M skip=1 count=1 iflag=direct status=none | tr -d '\0' | wc -c)" 0
    [ "$(stat_of "$L0" 12)" -gt 0 ] || fail "no discard arrived"
    dm_remove d
    copen d aes-xts-plain64
    fails "not supported" blkdiscard "$(dev d)"
}

# What fails is what fails on the disk: there, all blocks that went in one request.
test_errors_are_those_of_their_bios() {
    modprobe -q scsi_debug dev_size_mb=8 opts=2 delay=0 || skip "no scsi_debug"
    modprobe -q sd_mod || :
    local bad
    for _ in {1..50}; do
        L0=$(grep -l scsi_debug /sys/block/sd*/device/model 2>/dev/null | cut -d/ -f4)
        [ -z "$L0" ] || break
        sleep 0.1
    done
    L0=/dev/$L0
    [ -b "$L0" ] || fail "no disk of scsi_debug"
    SIZE=$(sectors "$L0")
    copen e aes-xts-plain64
    # Sectors 0x1234 and nine more cannot be read: from the middle of block 582 on.
    bad=$(python3 "$KSFT_LIB/aio.py" "$L0" 576 16)
    [[ " $bad " == *" 582 "* ]] || fail "block 582 of the disk could be read"
    equal "$(python3 "$KSFT_LIB/aio.py" "$(dev e)" 576 16)" "$bad"
    equal "$(python3 "$KSFT_LIB/aio.py" "$(dev e)" 576 6)" ""
    equal "$(python3 "$KSFT_LIB/aio.py" "$(dev e)" 584 8)" ""
    fails "No data available" read_direct "$(dev e)" 582
    dm_remove e
    rmmod scsi_debug
}
test_failing_writes() {
    null badblocks=+800-807
    copen e aes-xts-plain64
    write_direct e "$DIR/data" 64k 2>/dev/null && fail "a write to a bad block succeeded"
    dd if="$DIR/data" of="$(dev e)" bs=4k count=100 oflag=direct status=none
    dd if="$(dev e)" bs=4k count=100 iflag=direct status=none | cmp -n 409600 - "$DIR/data"
}

# A device with two requests, and one that takes a while: what does not fit waits.
test_few_requests() {
    null hw_queue_depth=2 irqmode=2 completion_nsec=50000
    copen q aes-xts-plain64
    verify q --rw=randwrite --bs=4k
    verify q --rw=write --bs=128k
}
test_device_is_busy() {
    null mbps=40
    copen q aes-xts-plain64
    verify q --rw=write --bs=64k --size=2M
}
test_suspend_under_load() {
    null irqmode=2 completion_nsec=100000
    copen q aes-xts-plain64
    verify q --rw=randrw --bsrange=4k-128k --size=4M --loops=3 &
    local job=$!
    for _ in {1..10}; do
        dmsetup suspend ksft-q
        sleep 0.05
        dmsetup resume ksft-q
        dm_swap q "$(ctable aes-xts-plain64)"
    done
    wait $job
}

test_refused_over_bios() {
    attach
    target=rcrypt copen b aes-xts-plain64
    log_mark
    fails "Invalid argument" \
        dmsetup create ksft-q --table "$(device=$(dev b) ctable aes-xts-plain64)"
    log_has "crypt: $Q cannot be over dm-[0-9]+, which takes no requests as a whole"
    log_has "use crypt or rcrypt$"
    log_has "table load rejected: including non-request-stackable devices"
}
test_refused_with_metadata() {
    attach
    log_mark
    fails "Invalid argument" dmsetup create ksft-q --table \
        "$(ctable "capi:gcm(aes)-random" integrity:28:aead)"
}
test_never_replaced_by_another() {
    attach
    copen q aes-xts-plain64
    fails "Invalid argument" dmsetup reload ksft-q --table "$(target=rcrypt ctable aes-xts-plain64)"
    # The core makes an exception, for tools that must free the device below.
    dm_swap q "0 $SIZE error"
    fails "Input/output error" read_direct "$(dev q)" 0
    dm_swap q "$(ctable aes-xts-plain64)"
    read_direct "$(dev q)" 0
}

# The table of a volume that cryptsetup has opened, with the other name.
test_luks() {
    echo -n ksft-passphrase >"$DIR/pw"
    truncate -s 12M "$DIR/luks"
    cryptsetup luksFormat -q --pbkdf-force-iterations 1000 --type luks1 "$DIR/luks" "$DIR/pw"
    L0=$(loop "$DIR/luks")
    cryptsetup open "$L0" ksft-t --key-file "$DIR/pw" --disable-keyring
    mkfs.ext4 -q "$(dev t)" 4M
    local table
    table=$(dmsetup table --showkeys ksft-t)
    cryptsetup close ksft-t
    dm_create t "${table/ crypt / $Q }"
    mkdir -p "$DIR/mnt"
    mount "$(dev t)" "$DIR/mnt"
    cp "$0" "$DIR/mnt/file"
    umount "$DIR/mnt"
    dm_remove t
    cryptsetup open "$L0" ksft-t --key-file "$DIR/pw"
    mount "$(dev t)" "$DIR/mnt"
    cmp "$0" "$DIR/mnt/file"
    umount "$DIR/mnt"
    cryptsetup close ksft-t
}

rq_main() { # test...
    both_targets && ksft_main "$@"
}
rq_main "$@"
