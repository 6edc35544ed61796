#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Loads tables into the C target, and prints what it does: corpus/formats.txt.

Runs in a VM, from the top of the tree:

  scripts/vm run --modules c --disk 64M --disk 64M --timeout 1800 -- \
      python3 /rdm/tools/testing/host/integrity/tests/golden/make.py >corpus/formats.txt

A case is a few lines:

  devices DATA META        the sectors of 7:0 and 7:1
  area blank|kept [EDIT...]   the superblock: zeros, or as it is after the case before; then
                           bytes are changed, OFFSET=HEX
  table LENGTH WORD...     what is loaded
  fail ERRNO TEXT          what came of it, or:
  ok WORD...               the table as the kernel prints it
  info WORD...             the status
  superblock HEX           the first 64 bytes; - if the devices do not keep what is written
"""

import errno
import fcntl
import mmap
import os
import random
import struct
import sys

CREATE, REMOVE, SUSPEND, LOAD, STATUS = 3, 4, 6, 9, 12
TABLE, INACTIVE = 1 << 4, 1 << 12
NAMES = ["7:0", "7:1"]
DISKS = ["/dev/vda", "/dev/vdb"]
KEPT = 131072


class Mapper:
    def __init__(self):
        self.control = os.open("/dev/mapper/control", os.O_RDWR)
        self.log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)

    def ioctl(self, command, name, flags=0, targets=0, payload=b""):
        size = 312 + max(len(payload), 16384)
        head = struct.pack("<3I7IQ128s129s7s", 4, 0, 0, size, 312, targets, 0, flags, 0, 0, 0,
                           name.encode(), b"", b"")
        buf = bytearray((head + payload).ljust(size, b"\0"))
        fcntl.ioctl(self.control, 3 << 30 | 312 << 16 | 0xFD << 8 | command, buf, True)
        return buf

    def create(self, name):
        device, = struct.unpack_from("<Q", self.ioctl(CREATE, name), 40)
        return f"{device >> 8 & 0xfff}:{device & 0xff | device >> 12 & 0xfff00}"

    def load(self, name, length, kind, text):
        text = text.encode() + b"\0"
        text += b"\0" * (-len(text) % 8)
        spec = struct.pack("<QQiI16s", 0, length, 0, 40 + len(text), kind.encode())
        self.ioctl(LOAD, name, 0, 1, spec + text)

    def status(self, name, flags):
        buf = self.ioctl(STATUS, name, flags | INACTIVE)
        start, = struct.unpack_from("<I", buf, 16)
        return bytes(buf[start + 40:]).split(b"\0")[0].decode()

    def messages(self):
        lines = []
        while True:
            try:
                record = os.read(self.log, 8192).decode(errors="replace")
            except BlockingIOError:
                return lines
            except BrokenPipeError:
                continue
            lines.append(record.split(";", 1)[1].split("\n", 1)[0])


def direct(disk, flags, use):
    area = mmap.mmap(-1, 4096)
    fd = os.open(disk, flags | os.O_DIRECT)
    try:
        use(fd, area)
        return bytes(area)
    finally:
        os.close(fd)


def read_area(disk, start):
    return direct(disk, os.O_RDONLY, lambda fd, area: os.preadv(fd, [area], start * 512))


def write_area(disk, start, data):
    def write(fd, area):
        area[:] = data
        os.pwrite(fd, area, start * 512)
    direct(disk, os.O_WRONLY, write)


def run(mapper, sizes, edits, table, length=8):
    """One case. With edits None, the area is blank before."""
    devices = {}
    for name, disk, sectors in zip(NAMES, DISKS, sizes):
        devices[name] = mapper.create("d" + name[2:])
        kind, text = ("linear", disk + " 0") if sectors <= KEPT else ("zero", "")
        mapper.load("d" + name[2:], sectors, kind, text)
        mapper.ioctl(SUSPEND, "d" + name[2:])
    where = 1 if " meta_device:7:1" in table else 0
    kept = sizes[where] <= KEPT
    start = table.split(" ")[1] if " " in table else ""
    start = int(start) if start.isdigit() else 0
    print("devices", *sizes)
    if edits is None:
        print("area blank")
        write_area(DISKS[where], start, bytes(4096))
    else:
        print("area kept", *(f"{at}={value.hex()}" for at, value in edits))
        area = bytearray(read_area(DISKS[where], start))
        for at, value in edits:
            area[at:at + len(value)] = value
        write_area(DISKS[where], start, area)
    print("table", length, table)
    text = table
    for name, device in devices.items():
        text = " ".join(word.replace(name, device) if word.endswith(name) else word
                        for word in text.split(" "))
    mapper.create("t")
    mapper.messages()
    try:
        mapper.load("t", length, "integrity", text)
        for word, flags in ("ok", TABLE), ("info", 0):
            line = mapper.status("t", flags)
            for name, device in devices.items():
                line = line.replace(device, name)
            print(word, line)
        print("superblock", read_area(DISKS[where], start)[:64].hex() if kept else "-")
    except OSError as e:
        lines = [m for m in mapper.messages() if ": integrity: " in m and m.endswith(")")]
        why = lines[-1].split(": integrity: ", 1)[1].rsplit(" (", 1)[0] if lines else "-"
        print("fail", errno.errorcode[e.errno].replace("ENOTSUP", "EOPNOTSUPP"), why)
    for name in "t", "d0", "d1":
        mapper.ioctl(REMOVE, name)


HASH = "internal_hash:crc32c"
KEYED = "internal_hash:hmac(sha256):0011223344556677"
SIZES = [(131072, 32768), (40000, 4000), (4096, 131072), (1000, 1000), (300, 131072), (24, 24),
         (1 << 24, 1 << 20), (1 << 33, 1 << 27), ((1 << 40) + 12345, 1 << 35)]


def chosen():
    """Cases that are named in the list of behaviours: sizes, table, edits."""
    small = SIZES[0]
    for mode in "JBDR":
        yield small, f"7:0 0 - {mode} 1 {HASH}", None
    yield small, "7:0 0 32 J 0", None
    for sizes in SIZES:
        for mode in "JD":
            yield sizes, f"7:0 0 - {mode} 2 {HASH} fix_padding", None
            yield sizes, f"7:0 0 - {mode} 2 {HASH} meta_device:7:1", None
            yield sizes, f"7:0 0 - {mode} 3 {HASH} meta_device:7:1 block_size:4096", None
            yield sizes, f"7:0 0 255 {mode} 2 {HASH} journal_sectors:1", None
        yield sizes, f"7:0 0 - B 2 {HASH} sectors_per_bit:1", None
        yield sizes, f"7:0 8 - B 3 {HASH} journal_sectors:1 block_size:2048", None
    for size in 512, 1024, 2048, 4096:
        for tag in 1, 4, 32, 64, 255:
            yield small, f"7:0 0 {tag} J 2 {HASH} block_size:{size}", None
            yield small, f"7:0 0 {tag} J 3 {HASH} block_size:{size} journal_mac:sha256", None
    for interleave in 0, 1, 8, 9, 256, 32768, 65535, 1 << 20:
        for buffers in 1, 8, 128:
            yield small, (f"7:0 0 - D 4 {HASH} interleave_sectors:{interleave} "
                          f"buffer_sectors:{buffers} fix_padding"), None
    for watermark in 0, 1, 33, 50, 99, 100:
        yield small, f"7:0 0 - J 3 {HASH} journal_watermark:{watermark} journal_sectors:900", None
    for interval in 0, 1, 2, 3, 4, 5, 9999, 2147483647, 2147483648, 4294967295:
        yield small, f"7:0 0 - B 2 {HASH} bitmap_flush_interval:{interval}", None
    for bit in 0, 1, 2, 3, 64, 65535, 1 << 62, (1 << 64) - 1:
        yield small, f"7:0 0 - B 3 {HASH} sectors_per_bit:{bit} block_size:2048", None
    versions = [HASH, HASH + " recalculate", HASH + " fix_padding",
                HASH + " fix_hmac", HASH + " fix_hmac fix_padding meta_device:7:1",
                KEYED + " allow_discards_keyed", KEYED + " allow_discards",
                HASH + " meta_device:7:1", "journal_mac:hmac(sha256):00", "fix_hmac",
                "journal_mac:hmac(sha256):00 fix_hmac", HASH + " reset_recalculate",
                KEYED + " recalculate", KEYED + " recalculate legacy_recalculate",
                KEYED + " fix_hmac recalculate",
                KEYED + " fix_hmac recalculate journal_mac:hmac(sha256):aa"]
    for words in versions:
        for mode in "JB":
            tag = "-" if "internal" in words else "4"
            yield small, f"7:0 0 {tag} {mode} {len(words.split())} {words}", None
    yield small, f"7:0 0 - J 1 {HASH}", None
    for at, values in {
        0: "00 69", 8: "00 01 02 03 04 05 06 07 08 ff", 9: "00 02 03 10 1f 20 ff",
        10: "0400 0500 0000", 12: "00000000 01000000 ffffff00 ffffffff ff000000",
        16: "0000000000000000", 28: "00 01 03", 29: "00 3f", 32: "ff00000000000000",
        24: "00000000 01000000 02000000 04000000 08000000 10000000 20000000 40000000 80000000",
    }.items():
        for value in values.split():
            yield small, f"7:0 0 - J 1 {HASH}", None
            yield small, f"7:0 0 - J 1 {HASH}", [(at, bytes.fromhex(value))]
    for other in ("7:0 0 - B 1 " + HASH, "7:0 0 - D 1 " + HASH, "7:0 0 - R 1 " + HASH,
                  "7:0 0 4 J 0", "7:0 0 5 J 1 " + HASH, "7:0 0 - J 2 block_size:1024 " + HASH,
                  "7:0 0 - J 2 journal_mac:sha256 " + HASH, "7:0 0 - J 2 recalculate " + HASH,
                  "7:0 0 - J 2 buffer_sectors:1 " + HASH, "7:0 0 - J 2 meta_device:7:1 " + HASH,
                  "7:0 0 - J 2 journal_sectors:1 " + HASH, "7:0 0 - J 2 fix_hmac " + HASH,
                  "7:0 0 - J 3 fix_hmac journal_mac:hmac(sha256):00 " + HASH):
        yield small, f"7:0 0 - J 1 {HASH}", None
        yield small, other, []
    yield small, f"7:0 0 - J 1 {HASH}", [(0, b"x")]
    yield small, f"7:0 0 - R 1 {HASH}", []


def refused():
    """Tables that are no good, with the text of each error."""
    for words in ("", "7:0", "7:0 0 - J", "/dev/none 0 - J 0", "7:0 x - J 0", "7:0 0 0 J 0",
                  "7:0 0 - J 0", "7:0 0 256 J 0", "7:0 0 - X 0", "7:0 0 - j 0", "7:0 0 - JB 0",
                  "7:0 0 4 J 1", "7:0 0 4 J 19" + " fix_padding" * 19, "7:0 0 4 J x",
                  "7:0 0 4 J 18" + " fix_padding" * 18, "7:0 0 4 J 0 ignored",
                  "7:0 0 4 J 1 block_size:513", "7:0 0 4 J 1 block_size:8192",
                  "7:0 0 4 J 1 block_size:x", "7:0 0 4 J 1 journal_watermark:101",
                  "7:0 0 4 J 1 nonsense", "7:0 0 4 J 1 FIX_PADDING",
                  "7:0 0 4 J 1 meta_device:/dev/none",
                  "7:0 0 - J 1 internal_hash:sha257", "7:0 0 - J 1 internal_hash:sha256:0",
                  "7:0 0 - J 1 internal_hash:sha256:0g", "7:0 0 - J 1 internal_hash:sha256:00",
                  "7:0 0 - J 1 internal_hash:hmac(sha256)", "7:0 0 - J 1 internal_hash:",
                  "7:0 0 4 J 1 journal_mac:sha257", "7:0 0 4 J 1 journal_mac:hmac(sha256)",
                  "7:0 0 4 J 1 journal_mac:hmac(sha256):0", "7:0 0 4 J 1 journal_crypt:cbc(aes):0",
                  "7:0 0 4 B 0", "7:0 0 4 D 1 allow_discards", "7:0 0 4 D 1 allow_discards_keyed",
                  "7:0 0 - D 2 allow_discards_keyed " + HASH, "7:0 0 4 D 1 recalculate",
                  "7:0 0 4 I 0", "7:0 0 - I 1 " + HASH, "7:0 0 - I 2 meta_device:7:1 " + HASH,
                  "7:0 0 - I 2 journal_mac:sha256 " + HASH, "7:0 0 - I 2 allow_discards " + HASH,
                  "7:0 131000 4 D 0"):
        yield SIZES[0], words, None
    yield SIZES[0], "7:0 0 4 D 0", None, 200000


def picked(count):
    """Tables put together at random, always the same."""
    dice = random.Random(7)
    for _ in range(count):
        words = []
        if dice.random() < 0.8:
            words.append("internal_hash:" + dice.choice(["crc32c", "sha256", "sha1"]))
        for word in (f"journal_sectors:{dice.choice([1, 200, 1000, 5000])}",
                     f"interleave_sectors:{1 << dice.randrange(6, 20)}",
                     f"buffer_sectors:{1 << dice.randrange(0, 7)}",
                     f"block_size:{512 << dice.randrange(4)}",
                     f"sectors_per_bit:{1 << dice.randrange(20)}", "meta_device:7:1",
                     "journal_mac:hmac(sha256):00ff", "fix_padding", "fix_hmac", "recalculate",
                     f"journal_watermark:{dice.randrange(101)}"):
            if dice.random() < 0.3:
                words.append(word)
        dice.shuffle(words)
        start = dice.choice([0, 0, 8, 1000])
        tag = dice.choice(["-", "4", "17", "32", "100"])
        sizes = tuple(dice.randrange(start + 8, 131073) for _ in NAMES)
        table = f"7:0 {start} {tag} {dice.choice('JBD')} {len(words)} {' '.join(words)}".rstrip()
        yield sizes, table, None


def main():
    os.environ["LC_ALL"] = "C"
    mapper = Mapper()
    print("# SPDX-License-Identifier: GPL-2.0")
    print(f"# Made by make.py in a VM: Linux {os.uname().release}")
    for case in [*chosen(), *refused(), *picked(120)]:
        sizes, table, edits, *length = case
        if "interleave_sectors:8 " in table and "fix_padding" not in table:
            continue
        print()
        run(mapper, sizes, edits, table, *length)
        sys.stdout.flush()


main()
