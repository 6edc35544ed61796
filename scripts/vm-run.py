#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs QEMU on the Debian tree. Called by scripts/vm, within the tree."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
import time

DIR = "/tmp/vm"
DEBUG_MEM = 512
TIME_LIMIT, FAILED = 124, 125

# Without erms and fsrm, with which TCG clears a page byte by byte, and without la57, whose
# fifth level of page tables costs time.
MANY_THREADS = ["-accel", "tcg,thread=multi", "-cpu", "max,-erms,-fsrm,-la57"]
# One instruction is a nanosecond. `rep movsb` would count once for each byte.
ICOUNT = ["-accel", "tcg,thread=single", "-cpu", "max,-erms,-fsrm", "-icount", "shift=0,sleep=off"]

# What the kernel says only if something is wrong. Lines about module taint are not.
TROUBLE = re.compile(
    r"\bBUG\b|\bWARNING\b|\bOops\b|Kernel panic|general protection fault|unable to handle|"
    r"Call Trace|UBSAN|KASAN|KCSAN|lockup|\bstall(ed|s)?\b|refcount_t|list_(add|del) corruption|"
    r"possible (recursive|circular|irq|deadlock|unsafe|reason|bad)|\bleaked\b|INFO: task|"
    r"blocked for more than|soft_lockup|sleeping function|scheduling while atomic|bad: |"
    r"[Uu]nknown symbol|memory leak|Bad page|corrupt(ed|ion) (page|freelist|list)|"
    r"still has objects|Objects remaining|locking correctness validator|ODEBUG|"
    r"panicked at"
)
NO_TROUBLE = ["taint", "RCU CPU stall warnings timeout", "leak detector initialized",
              r"^\[ +0\.0+\] kmemleak: .*disabled"]


def options():
    p = argparse.ArgumentParser()
    p.add_argument("mode")
    p.add_argument("--kernel")
    p.add_argument("--modules")
    p.add_argument("--disk", action="append", default=[])
    p.add_argument("--nvme", action="append", default=[])
    p.add_argument("--append", action="append", default=[])
    p.add_argument("--mem", type=int, default=1024)
    p.add_argument("--smp", type=int, default=2)
    p.add_argument("--timeout", type=int)
    p.add_argument("--qemu", action="append", default=[])
    p.add_argument("--allow-log", action="append", default=[])
    p.add_argument("--expect")
    p.add_argument("--icount", action="store_true")
    p.add_argument("--log")
    p.add_argument("argv", nargs="*")
    o = p.parse_args()
    if o.icount:
        o.smp = 1
    o.debug = o.kernel.endswith("-dbg")
    if o.debug:
        # What the checkers keep about every object.
        o.mem += DEBUG_MEM
    if o.timeout is None:
        o.timeout = 300 if o.mode == "run" else 10**9
    return o


def size(text):
    unit = {"k": 10, "m": 20, "g": 30, "t": 40}.get(text[-1].lower())
    return int(text[:-1]) << unit if unit else int(text)


def prepare(o):
    """Writes what vm-init reads."""
    os.makedirs(DIR)
    with open(f"{DIR}/argv", "wb") as f:
        f.write(b"".join(a.encode() + b"\0" for a in o.argv))
    columns, rows = shutil.get_terminal_size()
    screen = f"rows {rows} cols {columns}"
    for name, text in (("modules", o.modules), ("mode", o.mode), ("size", screen)):
        with open(f"{DIR}/{name}", "w") as f:
            f.write(text + "\n")


def share():
    """The file system server of the VM's root, which is the root seen from here."""
    server = subprocess.Popen(
        ["/usr/libexec/virtiofsd", f"--socket-path={DIR}/fs", "--shared-dir=/",
         "--sandbox=none", "--seccomp=none", "--cache=always", "--inode-file-handles=never",
         "--log-level=error"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(f"{DIR}/fs.log", "w"))
    for _ in range(200):
        if os.path.exists(f"{DIR}/fs"):
            return server
        if server.poll() is not None:
            break
        time.sleep(0.05)
    sys.exit("vm: virtiofsd did not start: " + open(f"{DIR}/fs.log").read())


def disks(sizes):
    """Sparse files that vanish with QEMU, and files on which changes vanish."""
    args, fds = [], []
    for i, text in enumerate(sizes):
        args += ["-device", f"virtio-blk-pci,drive=d{i},serial=rdm{i}"]
        drive = f"id=d{i},if=none,format=raw,cache=unsafe,discard=unmap,"
        if "/" in text:
            args += ["-drive", f"{drive}snapshot=on,file={text}"]
            continue
        fds.append(nameless(text))
        args += ["-drive", f"{drive}file.locking=off,file=/proc/self/fd/{fds[-1]}"]
    return args, fds


def nameless(text):
    """A sparse file of a size that has no name."""
    fd = os.open("/cache", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.ftruncate(fd, size(text))
    return fd


def nvme(disks):
    """NVMe disks: a size, then what the namespace has, such as bytes of metadata."""
    args, fds = [], []
    for i, text in enumerate(disks):
        capacity, _, options = text.partition(",")
        fds.append(nameless(capacity))
        args += ["-drive", f"id=n{i},if=none,format=raw,cache=unsafe,file.locking=off,"
                 f"file=/proc/self/fd/{fds[-1]}", "-device", f"nvme,serial=rdmn{i},id=nvme{i}",
                 "-device", f"nvme-ns,drive=n{i},bus=nvme{i}" + (options and "," + options)]
    return args, fds


def debug_parameters(o):
    """What of the checkers is on: a VM is twice as fast without kmemleak and red zones of slabs."""
    leaks = any("kmemleak" in a for a in o.append)
    # KASAN has red zones of its own. TCG keeps translated code of a page until a CPU writes to it,
    # and does not see virtiofsd do so: a page must be cleared before a library is read into it.
    # Debian's kernel does that by itself.
    return ["kasan_multi_shot", "init_on_alloc=1", "slub_debug=-",
            *([] if leaks else ["kmemleak=off"])]


def command(o, disk_args, out_fd):
    modules = f"/cache/{o.kernel}/pkg/usr/lib/modules/{os.path.basename(o.kernel)}"
    append = ["rootfstype=virtiofs root=root ro init=/rdm/scripts/vm-init console=ttyS0",
              "panic=-1 oops=panic loglevel=7 mitigations=off cryptomgr.notests=1",
              # On a busy host, the few ticks that the kernel waits for are not seen in time.
              "no_timer_check",
              f"rcupdate.rcu_cpu_stall_timeout=90 rdm.dir={DIR}",
              f"TERM={os.environ.get('TERM', 'linux')}",
              *(["init_on_alloc=0 nokaslr"] if o.icount else []),
              *(debug_parameters(o) if o.debug else []), *o.append]
    c = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
         "-machine", "q35,memory-backend=mem", *(ICOUNT if o.icount else MANY_THREADS),
         "-smp", str(o.smp), "-m", f"{o.mem}M",
         "-object", f"memory-backend-memfd,id=mem,size={o.mem}M,share=on",
         "-kernel", f"{modules}/vmlinuz", "-append", " ".join(append),
         "-chardev", f"socket,id=fs,path={DIR}/fs",
         "-device", "vhost-user-fs-pci,chardev=fs,tag=root",
         "-serial", f"file:{DIR}/log", "-device", "virtio-serial-pci",
         "-chardev", f"file,id=end,path={DIR}/end",
         "-device", "virtserialport,chardev=end,name=rdm.end"]
    if o.mode == "shell":
        c += ["-chardev", "stdio,id=tty,signal=off", "-device", "virtconsole,chardev=tty"]
    else:
        c += ["-chardev", f"file,id=out,path=/proc/self/fd/{out_fd}",
              "-device", "virtserialport,chardev=out,name=rdm.out"]
    return c + disk_args + [a for q in o.qemu for a in q.split()]


def relay(fd):
    while data := os.read(fd, 65536):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def run(o):
    """True if QEMU ended by itself."""
    disk_args, fds = (a + b for a, b in zip(disks(o.disk), nvme(o.nvme)))
    if o.mode == "shell":
        print("vm: booting; 'exit' powers off", file=sys.stderr)
        return subprocess.run(command(o, disk_args, None), pass_fds=fds).returncode == 0
    r, w = os.pipe()
    with subprocess.Popen(command(o, disk_args, w), pass_fds=[*fds, w],
                          stdin=subprocess.DEVNULL) as qemu:
        os.close(w)
        t = threading.Thread(target=relay, args=(r,))
        t.start()
        try:
            qemu.wait(o.timeout)
            return True
        except subprocess.TimeoutExpired:
            qemu.kill()
            return False
        finally:
            qemu.wait()
            t.join()


def read(name):
    try:
        with open(f"{DIR}/{name}", errors="replace") as f:
            return f.read().replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        return ""


def fail(status, text, log):
    start = log.find("rdm-vm: start")
    lines = log[max(start, 0):].splitlines()[-300:]
    sys.stdout.flush()
    shown = ["vm: kernel log:", *(f"  | {line}" for line in lines), f"vm: error: {text}"]
    print("\n".join(shown), file=sys.stderr)
    return status


def troubles(o, log):
    """The lines that are a failure, each after the last "ksft:" before it."""
    allowed = [re.compile(a) for a in [*NO_TROUBLE, *o.allow_log]]
    during = ""
    for line in log.splitlines():
        if m := re.search(r"ksft: ([\w/]+\.sh)$", line):
            during = f" (in {m.group(1)})"
        if TROUBLE.search(line) and not any(a.search(line) for a in allowed):
            yield line.strip() + during


def expected(o, log):
    """Checks the end that --expect asks for."""
    kind, _, pattern = o.expect.partition("=")
    end = re.search("Kernel panic - not syncing|reboot: Restarting system|sysrq: Resetting", log)
    if kind == "trouble":
        seen, where = kind, "\n".join(troubles(o, log))
    else:
        seen = "neither panic nor reboot"
        if end:
            seen = "panic" if "panic" in end.group() else "reboot"
        where = log
    if seen != kind:
        return fail(FAILED, f"expected a {kind}, seen: {seen}", log)
    if pattern and not re.search(pattern, where, re.S):
        return fail(FAILED, f"{kind} as expected, but '{pattern}' is not in the kernel log", log)
    if kind != "trouble" and (bad := list(troubles(o, log[:end.start()]))):
        return fail(FAILED, f"{kind} as expected, but the kernel log has: {bad[0]}", log)
    return 0


def verdict(o, ended):
    log, end = read("log"), read("end")
    if o.log:
        with open(o.log, "w") as f:
            f.write(log)
    if not ended:
        return fail(TIME_LIMIT, f"time limit of {o.timeout} s reached", log)
    if o.expect:
        return expected(o, log)
    if bad := list(troubles(o, log)):
        return fail(FAILED, "the kernel log has: " + bad[0], log)
    m = re.fullmatch(r"exit (\d+)", end.strip())
    if not m:
        return fail(FAILED, "the VM ended without its end marker", log)
    return int(m.group(1))


def main():
    o = options()
    prepare(o)
    server = share()
    try:
        ended = run(o)
    finally:
        server.terminate()
    if o.mode == "shell":
        return 0
    return verdict(o, ended)


sys.exit(main())
