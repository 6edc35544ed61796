# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# LUKS2 volumes of the ordinary tool, with small headers.

. "$(dirname "${BASH_SOURCE[0]}")/crypt.sh"

# The megabytes of a volume, half of which is data to compare.
MB=8
QUICK=(-q --pbkdf pbkdf2 --pbkdf-force-iterations 1000)
SMALL=(--luks2-metadata-size 16k --luks2-keyslots-size 512k)

# The module of C, and ours again.
use_c() {
    [ ! -e /sys/module/rdm_crypt ] || rmmod rdm_crypt
    modprobe dm-crypt
}
use_ours() {
    [ ! -e /sys/module/dm_crypt ] || rmmod dm_crypt
    [ -e /sys/module/rdm_crypt ] || insmod "$RDM_DIR/rdm_crypt.ko"
}

# A volume with data that is random in its first half and a load's in the other.
volume() {
    truncate -s 0 "$DIR/image"
    truncate -s $((MB + 2))M "$DIR/image"
    L0=$(loop "$DIR/image")
    cryptsetup luksFormat "${QUICK[@]}" "${SMALL[@]}" --type luks2 --key-file "$DIR/pw" "$L0"
    volume_open
    random "$DIR/data" $((MB * 524288))
    write_direct t "$DIR/data" 64k
}
HEADER=()
volume_open() {
    cryptsetup open --disable-keyring --key-file "$DIR/pw" "${HEADER[@]}" "$L0" ksft-t
}
volume_close() { cryptsetup close ksft-t; }
is_there() { # when
    equal "$(dd if="$(dev t)" bs=64k count=$((MB * 8)) iflag=direct status=none | sha256sum |
        cut -c1-64)" "$(sum "$DIR/data")" "the data $1"
}
reencrypt() { cryptsetup reencrypt "${QUICK[@]}" --key-file "$DIR/pw" "$@"; }
load_start() {
    rm -f "$DIR/stop"
    (
        while [ ! -e "$DIR/stop" ]; do
            fio --name=l --filename="$(dev t)" --direct=1 --offset=$((MB / 2))M --size=2M \
                --rw=randrw --bs=4k --ioengine=libaio --iodepth=8 --verify=crc32c \
                --allow_file_create=0 --minimal >"$DIR/fio" 2>&1 ||
                # A volume that is closed ends the load.
                { [ ! -e "$(dev t)" ]; exit; }
        done
    ) &
    LOAD=$!
}
load_end() {
    touch "$DIR/stop"
    wait "$LOAD" || fail "$(cat "$DIR/fio")"
}
volume_key() { dmsetup table --showkeys ksft-t | cut -d' ' -f5; }
