# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Common to all scripts: where things are, and how to say what is going on.

set -euo pipefail

RDM_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
RDM_CACHE=${RDM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rdm}
RDM_SUITE=trixie
RDM_SERIES=7.3
RDM_ROOT=$RDM_CACHE/root
# The kernel tree as the Debian tree sees it.
RDM_KDIR=/cache/kernel-${FLAVOUR:-cloud}/source
[ -z "${KDIR:-}" ] || RDM_KDIR=/kdir
export RDM_TOP RDM_CACHE RDM_SUITE RDM_SERIES RDM_ROOT RDM_KDIR

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
die() { printf 'rdm: error: %s\n' "$*" >&2; exit 1; }

# Whether a module of that build registers the target, which it does under this name as well.
has_target() { # modules target
    local dir=$1
    case $dir in /rdm/*) dir=$RDM_TOP${dir#/rdm} ;; esac
    grep -qsa "r$2" "$dir/rdm_$2.ko"
}

# What went wrong more often than not, to be named in the last line.
KNOWN_CAUSES="Temporary failure resolving '[^']*'|Could not connect to [^ ]*|Unable to connect[^.]*"
KNOWN_CAUSES+="|Connection (timed out|failed|refused)|No space left on device|404 +Not Found"

last_line() { # log
    tail -c 400 "$1" | tr '\r' '\n' | grep -av '^[[:space:]]*$' | tail -n 1 | cut -c1-90
}

# Runs a long command with its output in a log file. A line about every ten
# seconds shows how far it is; a failure shows the end of the log. An interrupt
# ends the command and all it started.
long_step() { # title, log name, command...
    local title=$1 log=$RDM_CACHE/logs/$2.log start=$SECONDS pid beat=0 cause
    shift 2
    mkdir -p "$RDM_CACHE/logs"
    say "$title"
    set -m
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    set +m
    # shellcheck disable=SC2064
    trap "kill -- -$pid 2>/dev/null; die 'interrupted; the next run goes on from here'" INT TERM HUP
    while kill -0 "$pid" 2>/dev/null; do
        sleep 1
        beat=$((beat + 1))
        if [ $((beat % 10)) = 0 ]; then
            printf '    %4d s  %s\n' $((SECONDS - start)) "$(last_line "$log")" >&2
        fi
    done
    trap - INT TERM HUP
    if ! wait "$pid"; then
        tail -n 15 "$log" | sed 's/^/    /' >&2
        cause=$(grep -a -m 1 -oE "$KNOWN_CAUSES" "$log" || :)
        die "$title: failed${cause:+: $cause} (the whole log is in $log)"
    fi
    printf '    done in %d s\n' $((SECONDS - start)) >&2
}

# One script at a time may fill the cache.
with_cache_lock() {
    mkdir -p "$RDM_CACHE"
    exec 9>"$RDM_CACHE/lock"
    if ! flock -n 9; then
        say "another run is filling the cache, waiting for it"
        flock 9
    fi
}
without_cache_lock() { exec 9>&-; }
