#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Prints the audit records of the device mapper: the number of the type, a blank, the text.

Turns auditing on first and says so with the line "ready"; turns it off at the end, which is SIGTERM
or the end of the parent.
"""

import os
import signal
import socket
import struct
import sys

NETLINK_AUDIT, READLOG = 9, 1
AUDIT_SET, STATUS_ENABLED = 1001, 1
DM_CTRL, DM_EVENT = 1338, 1339
REQUEST_ACK = 5


def enable(on):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_AUDIT) as s:
        status = struct.pack("<11I", STATUS_ENABLED, on, *[0] * 9)
        s.send(struct.pack("<IHHII", 16 + len(status), AUDIT_SET, REQUEST_ACK, 1, 0) + status)
        error, = struct.unpack_from("<i", s.recv(8192), 16)
    if error:
        sys.exit("auditing: " + os.strerror(-error))


def main():
    parent = os.getppid()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_AUDIT) as s:
        s.bind((0, 1 << READLOG - 1))
        s.settimeout(1)
        enable(1)
        print("ready", flush=True)
        while os.getppid() == parent:
            try:
                message = s.recv(65536)
            except TimeoutError:
                continue
            kind, = struct.unpack_from("<H", message, 4)
            if kind in (DM_CTRL, DM_EVENT):
                text = message[16:].rstrip(b"\0").decode(errors="replace")
                print(kind, text, flush=True)


try:
    main()
finally:
    enable(0)
