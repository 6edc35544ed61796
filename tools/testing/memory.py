# SPDX-License-Identifier: GPL-2.0
"""The memory of a VM, from outside.

   memory.py dump SOCKET FILE MIB    takes it, through QEMU's QMP
   memory.py find FILE HEX           looks for any 16 bytes in a row of a key in it

A round key of AES-256 begins with the key itself, so the expanded keys of a cipher count as well.
"""

import json
import mmap
import os
import socket
import sys

PART = 16


class Monitor:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self.run("qmp_capabilities")

    def run(self, command, **arguments):
        request = {"execute": command, "arguments": arguments}
        self.file.write(json.dumps(request) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            if "error" in answer:
                sys.exit(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]


def dump(path, file, mib):
    monitor = Monitor(path)
    monitor.run("stop")
    monitor.run("pmemsave", val=0, size=int(mib) << 20, filename=file)
    monitor.run("cont")


def find(path, key):
    key = bytes.fromhex(key)
    count = 0
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
        for start in range(0, len(key), PART):
            at = memory.find(key[start : start + PART])
            while at >= 0:
                print(f"# {os.path.basename(path)}: bytes {start} on at {at:#x}")
                count += 1
                at = memory.find(key[start : start + PART], at + 1)
    sys.exit(0 if count else 1)


{"dump": dump, "find": find}[sys.argv[1]](*sys.argv[2:])
