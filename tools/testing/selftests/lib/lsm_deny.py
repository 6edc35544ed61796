#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A security module that forbids to tell it something of a block device.

    lsm_deny.py TYPE

Until it or its parent ends, security_bdev_setintegrity() fails with EPERM for TYPE (a number of
enum lsm_integrity_type). Says "ready" when that is so. It is a BPF program of six instructions.
"""

import ctypes
import os
import signal
import struct
import sys

SYS_BPF, PROG_LOAD, RAW_TRACEPOINT_OPEN = 321, 5, 17
PROG_TYPE_LSM, LSM_MAC = 29, 27
PR_SET_PDEATHSIG = 1
HOOK = "bpf_lsm_bdev_setintegrity"
# BTF: the kind of functions, and the bytes that follow a type of a kind: fixed, and per member.
FUNC = 12
FIXED = {1: 4, 3: 12, 14: 4, 17: 4}
MEMBER = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}


def btf_id(name):
    with open("/sys/kernel/btf/vmlinux", "rb") as f:
        data = f.read()
    size, types, types_len, strings, strings_len = struct.unpack_from("<5I", data, 4)
    start = size + strings
    wanted = data.index(b"\0" + name.encode() + b"\0", start, start + strings_len) + 1 - start
    at, end, number = size + types, size + types + types_len, 1
    while at < end:
        text, info = struct.unpack_from("<II", data, at)
        kind = info >> 24 & 31
        if kind == FUNC and text == wanted:
            return number
        at += 12 + FIXED.get(kind, 0) + MEMBER.get(kind, 0) * (info & 0xFFFF)
        number += 1
    sys.exit(f"no {name} in the types of the kernel")


def bpf(cmd, attr):
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(SYS_BPF, cmd, attr, len(attr))
    if fd < 0:
        sys.exit(f"bpf {cmd}: " + os.strerror(ctypes.get_errno()))
    return fd


def program(kind):
    def insn(op, dst=0, src=0, off=0, imm=0):
        return struct.pack("<BBhi", op, src << 4 | dst, off, imm)
    return b"".join([
        insn(0x79, 0, 1, 8),             # r0 = the second argument
        insn(0x56, 0, 0, 2, kind),       # if (u32)r0 != kind: skip two
        insn(0xB7, imm=-1),              # return -EPERM
        insn(0x95),
        insn(0xB7, imm=0),               # return 0
        insn(0x95),
    ])


def main():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    code = program(int(sys.argv[1]))
    insns, gpl = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("<IIQQIIQII16sIIIIQIIQII", PROG_TYPE_LSM, len(code) // 8,
                       ctypes.addressof(insns), ctypes.addressof(gpl), 0, 0, 0, 0, 0, b"ksft",
                       0, LSM_MAC, 0, 0, 0, 0, 0, 0, 0, btf_id(HOOK))
    loaded = bpf(PROG_LOAD, attr)
    bpf(RAW_TRACEPOINT_OPEN, struct.pack("<QII", 0, loaded, 0))
    print("ready", flush=True)
    signal.pause()


main()
