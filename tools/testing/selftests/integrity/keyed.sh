#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Volumes with keys: what is refused so that nobody without the key can have changed data
# accepted (case I16). With the ordinary tools.
# Rows: I-18 I-21 I-22 I-24 I-26 I-32 I-56 I-64
# Needs: integrity

. "$(dirname "$0")/../lib/volumes.sh"

setup() { random "$DIR/key" 32; random "$DIR/other" 32; }
hash=(--integrity hmac-sha256 --integrity-key-size 32)
mac=(--journal-integrity hmac-sha256 --journal-integrity-key-size 32)
key() { hash+=(--integrity-key-file "$DIR/key"); mac+=(--journal-integrity-key-file "$DIR/key"); }

# The tool says no; the kernel's reason is in the log.
not_opened() { # regex option...
    log_mark
    ! iopen "$L" v "${@:2}" >"$DIR/tool" 2>&1 || fail "opened: ${*:2}"
    log_has "$1"
}
test_recalculation() {
    key
    L=$(empty d 6)
    iformat "$L" --no-wipe "${hash[@]}"
    not_opened "ecalculating with HMAC is disabled for security reasons.*EOPNOTSUPP|-EOPNOTSUPP" \
        "${hash[@]}" --integrity-recalculate
    iopen "$L" v "${hash[@]}" --integrity-recalculate --integrity-legacy-recalculate
    recalculated v
    equal "$(bad_sectors "$(dev v)")" ""
}
test_recalculation_with_journal_mac() {
    key
    L=$(empty d 6)
    iformat "$L" --no-wipe "${hash[@]}" "${mac[@]}"
    iopen "$L" v "${hash[@]}" "${mac[@]}" --integrity-recalculate
    recalculated v
    equal "$(bad_sectors "$(dev v)")" ""
}
test_journal_mac_must_match() {
    key
    L=$(empty d 6)
    iformat "$L" "${hash[@]}" "${mac[@]}"
    not_opened "Journal mac mismatch \(-EINVAL\)" "${hash[@]}"
    iopen "$L" v "${hash[@]}" "${mac[@]}"
    iclose v
    mac=(--journal-integrity hmac-sha256 --journal-integrity-key-size 32
        --journal-integrity-key-file "$DIR/other")
    not_opened "Error on superblock mac: -84" "${hash[@]}" "${mac[@]}"
    L=$(empty e 6)
    iformat "$L" "${hash[@]}"
    not_opened "Error on superblock mac: -84" "${hash[@]}" "${mac[@]}"
}
# Somebody without the key clears the flag.
test_flag_cannot_be_cleared() {
    key
    L=$(empty d 6)
    iformat "$L" "${hash[@]}" "${mac[@]}"
    losetup -d "$L"
    python '
import struct
with open(sys.argv[1], "r+b") as f:
    f.seek(24)
    flags, = struct.unpack("<I", f.read(4))
    assert flags & 0x10, hex(flags)
    f.seek(24)
    f.write(struct.pack("<I", flags & ~0x10))
' "$DIR/d"
    L=$(loop "$DIR/d")
    # The table has fix_hmac; the tool leaves it out when the superblock does.
    local k
    k=$(od -An -v -tx1 "$DIR/key" | tr -d ' \n')
    log_mark
    fails "Invalid argument" topen v "$L" J fix_padding fix_hmac "internal_hash:hmac(sha256):$k" \
        "journal_mac:hmac(sha256):$k"
    log_has "fix_hmac is on the command line but not in the superblock \(-EINVAL\)"
}
# The filler that stands for discarded blocks is public; the one with a key is not.
test_discards() {
    local k filler
    k=$(printf %064d 7)
    L=$(empty d 6)
    wipe='' tformat "$L" D fix_padding "internal_hash:hmac(sha256):$k"
    fails "Invalid argument" topen v "$L" D allow_discards_keyed internal_hash:sha256
    topen v "$L" D "internal_hash:hmac(sha256):$k" allow_discards_keyed
    blkdiscard --force "$(dev v)"
    equal "$(bad_sectors "$(dev v)")" "" "after a discard with keyed tags"
    filler=$(tr -cd '\366' <"$DIR/d" | wc -c)
    [ "$filler" -lt 65536 ] || fail "$filler bytes are the public filler"
    dm_remove v
    fails "Invalid argument" topen v "$L" D "internal_hash:hmac(sha256):$k"
    fails "Invalid argument" topen v "$L" D "internal_hash:hmac(sha256):$k" allow_discards
}
# Somebody without the key copies an old section of the journal behind the newest one: the block
# that it has would be what it was before. The commit ids are no secret where nothing is encrypted.
with_copied_section() { # option...
    local k
    k=$(printf %064d 7)
    rm -f "$DIR/d"
    L=$(empty d 3)
    set -- "internal_hash:hmac(sha256):$k" "journal_mac:hmac(sha256):$k" journal_sectors:2000 "$@"
    wipe='' tformat "$L" J "$@"
    topen v "$L" J "$@"
    put_text "$(dev v)" 0 old-content
    put_text "$(dev v)" 0 new-content
    cp "$DIR/d" "$DIR/copy"
    dm_remove v
    losetup -d "$L"
    python '
import struct
SECTORS, START = 88, 8
with open(sys.argv[1], "r+b") as f:
    image = f.read()
    old, new = ((image.index(text) // 512 - START) // SECTORS
                for text in (b"old-content", b"new-content"))
    for n in range(SECTORS):
        at = [(START + section * SECTORS + n) * 512 for section in (old, new, new + 1)]
        sequence, = struct.unpack_from("<Q", image, at[1] + 504)
        sequence ^= (new << 32) ^ ((new + 1) << 32)
        f.seek(at[2])
        f.write(image[at[0]:at[0] + 504] + struct.pack("<Q", sequence))
' "$DIR/copy"
    L=$(loop "$DIR/copy")
    log_mark
    topen v "$L" J "$@"
}
test_copied_section_of_the_journal() {
    with_copied_section fix_padding fix_hmac
    log_has "Error on journal mac: -84"
    fails "Invalid or incomplete" read_direct "$(dev v)" 0
}
# What the MAC did not cover before: the test copies what it should.
test_copied_section_without_fix_hmac() {
    with_copied_section
    equal "$(text_at "$(dev v)" 0)" old-content
}

ksft_main "$@"
