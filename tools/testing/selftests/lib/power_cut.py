# SPDX-License-Identifier: GPL-2.0
"""Both ends of tools/testing/power-cuts, which says what happens.

    power_cut.py guest DIR          in the VM: verifies the images of the last cut, loads new ones
    power_cut.py crash DIR CUT      outside: makes those images of what the disks were sent
"""

import json
import os
import random
import sys
import threading

import crash_load
import write_log
from volume import Direct, Volume, settle

SIZE = 6 << 20
VOLUMES = (
    ("J", "internal_hash:crc32c journal_sectors:1056"),
    ("J", "internal_hash:crc32c journal_sectors:1600 block_size:4096"),
    ("B", "internal_hash:crc32c sectors_per_bit:64 bitmap_flush_interval:100"),
    ("D", "internal_hash:crc32c"),
)
THREADS = 2


def name_of(number):
    return f"{VOLUMES[number][0]}{number}"


def say(text):
    os.write(1, (text + "\n").encode())


def disks():
    """Devices by their serial numbers."""
    found = {}
    for name in os.listdir("/sys/block"):
        path = f"/sys/block/{name}/serial"
        if os.path.exists(path):
            with open(path) as f:
                found[f.read().strip()] = f"/dev/{name}"
    return found


def read_job(where):
    try:
        with open(f"{where}/job") as f:
            return json.load(f)
    except FileNotFoundError:
        return {"cut": 0, "volumes": []}


def write_image(device, image):
    with Direct(device, os.O_RDWR) as f:
        for at in range(0, len(image), len(f.buffer)):
            part = image[at:at + len(f.buffer)]
            f.buffer[:len(part)] = part
            os.pwritev(f.fd, [memoryview(f.buffer)[:len(part)]], at)
        os.fsync(f.fd)


def read_image(device):
    with Direct(device) as f:
        return b"".join(bytes(f.read(at, 1 << 20)) for at in range(0, SIZE, 1 << 20))


def wrong(volume, plan, done):
    """What is wrong with the volume after the crash."""
    try:
        with volume.open() as mapped:
            settle(mapped)
            return list(crash_load.differences(plan, done, mapped, volume.sectors, volume.mode))
    except (OSError, RuntimeError) as e:
        return [str(e)]


def verify(job, device, targets):
    """One image of the last cut, by each target."""
    mode, options = VOLUMES[job["number"]]
    done = {int(t): n for t, n in job["done"].items()}
    image = read_image(device)
    for target in targets:
        volume = Volume(target, device, mode, options)
        volume.sectors = job["sectors"]
        plan = crash_load.Plan(job["seed"], THREADS, volume.sectors, volume.block)
        write_image(device, image)
        found = wrong(volume, plan, done)
        for text in found[:3]:
            say(f"# {job['name']}: {target}: {text}")
        word = "bad" if found else "good"
        say(f"{word} {job['name']} {target} after cut {job['cut']}: {job['what']}")


def load(number, device, target, seed):
    mode, options = VOLUMES[number]
    volume = Volume(target, device, mode, options, f"ksft-{name_of(number)}")
    volume.make()
    plan = crash_load.Plan(seed, THREADS, volume.sectors, volume.block)
    say(f"volume {number} {volume.sectors}")
    mapped = volume.open()
    return threading.Thread(target=crash_load.run, args=(
        plan, mapped.path, 10**9, lambda t, n: say(f"ack {number} {t} {n}")))


def guest(where):
    job, found = read_job(where), disks()
    targets = os.environ["TARGETS"].split(",")
    for i, volume in enumerate(job["volumes"]):
        # Those of scripts/vm are called rdm0 and so on.
        verify(volume, found[f"rdm{i}"], targets)
    if "new0" not in found:
        return
    os.system("dmesg | grep -E 'BUG|WARNING|Oops|Call Trace' | sed 's/^/bad log /'")
    threads = [load(i, found[f"new{i}"], os.environ["I"], job["cut"] + 1)
               for i in range(len(VOLUMES))]
    for thread in threads:
        thread.start()
    say("loading")
    for thread in threads:
        thread.join()


def after(entries, policy, seed):
    """The image that a disk has after a power cut, and how it came to be."""
    image = bytearray(SIZE)
    flush = max((i + 1 for i, e in enumerate(entries) if e.flags & write_log.FLUSH), default=0)
    if policy == "half":
        flush //= 2
    for entry in entries[:flush]:
        entry.apply(image)
    rest = entries[flush:] if policy != "half" else []
    for entry, which in write_log.lottery(rest, seed):
        if policy == "kept" or entry.flags & write_log.FUA:
            entry.apply(image)
        elif policy == "part":
            entry.apply_some(image, which)
    return image, f"{policy} of {len(rest)} writes without a flush, {flush} before them"


def reports(where):
    """What the VM has said before the cut: sizes, and the last operations."""
    sectors, done = {}, {i: {} for i in range(len(VOLUMES))}
    with open(f"{where}/out", errors="replace") as f:
        # The last line may have been cut as well.
        lines = f.read().split("\n")[:-1]
    for words in map(str.split, lines):
        if words[:1] == ["volume"] and len(words) == 3:
            sectors[int(words[1])] = int(words[2])
        elif words[:1] == ["ack"] and len(words) == 4:
            number, thread, n = map(int, words[1:])
            done[number][thread] = n
    return sectors, done


def crash(where, cut):
    sectors, done = reports(where)
    rng, volumes = random.Random(cut), []
    for number in range(len(VOLUMES)):
        entries = write_log.read(f"{where}/log{number}")
        policies = [rng.choice(("kept", "lost", "part"))]
        # It has to be noticed if writes are missing, or nothing is tested.
        policies += ["half"] if number == 0 else []
        for policy in policies:
            image, what = after(entries, policy, cut * 100 + number)
            with open(f"{where}/crash{len(volumes)}", "wb") as f:
                f.write(image)
            name = "control" if policy == "half" else name_of(number)
            reported = sum(n + 1 for n in done[number].values())
            volumes.append({"name": name, "number": number, "cut": cut, "seed": cut,
                            "sectors": sectors[number], "done": done[number],
                            "what": f"{what}; {reported} operations reported"})
    with open(f"{where}/job", "w") as f:
        json.dump({"cut": cut, "volumes": volumes}, f)


def main():
    if sys.argv[1] == "guest":
        guest(sys.argv[2])
    else:
        crash(sys.argv[2], int(sys.argv[3]))


main()
