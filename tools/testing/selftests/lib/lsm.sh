# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What security modules are told of block devices, seen with a kprobe.

TRACE=/sys/kernel/tracing

# Records the calls of the hook until the test ends, with both kinds of value that verity passes:
# a structure with the root digest, and the bytes of a signature.
lsm_watch() {
    trap lsm_unwatch EXIT
    echo >$TRACE/trace
    echo "p:ksft/told security_bdev_setintegrity type=%si:u32 value=%dx size=%cx:u64" \
        "alg=+0(+0(%dx)):string len=+16(%dx):u64 digest=+0(+8(%dx)):x8[32] bytes=+0(%dx):x8[16]" \
        >$TRACE/kprobe_events
    echo 1 >$TRACE/events/ksft/told/enable
}
lsm_unwatch() {
    echo 0 >$TRACE/events/ksft/told/enable
    echo >$TRACE/kprobe_events
}
# The calls so far, a line each: what was told, its size, and what is known of it.
lsm_told() {
    awk '
    function hex(list,   n, bytes, i, text) {
        gsub(/[{}]|0x/, "", list)
        n = split(list, bytes, ",")
        for (i = 1; i <= n; i++) text = text (length(bytes[i]) == 1 ? "0" : "") bytes[i]
        return text
    }
    / told: / {
        for (i = 1; i <= NF; i++)
            if (n = index($i, "=")) v[substr($i, 1, n - 1)] = substr($i, n + 1)
        printf "%s %s", v["type"] == 1 ? "digest" : "signature", v["size"]
        if (v["value"] == "0x0") print " none"
        else if (v["type"] == 1) print "", v["alg"], v["len"], hex(v["digest"])
        else print "", hex(v["bytes"])
    }' $TRACE/trace
}
