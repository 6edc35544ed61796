# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Tables that must be refused, many of them by one process: tables.py.

# Started once for a file; its pipes are known under numbers that subshells keep.
tables_start() {
    coproc TABLES { exec python3 "$KSFT_LIB/tables.py"; }
    exec {TABLES_OUT}<&"${TABLES[0]}" {TABLES_IN}>&"${TABLES[1]}"
}

# The table must be refused with this text and errno, and nothing may stay.
table_refused() { # module "text" symbol table [ro|rw]
    local reply errno left kind
    read -r _ _ kind _ <<<"$4"
    printf '%s\t%s\t%s\n' "${5:-ro}" "$1" "$4" >&"$TABLES_IN"
    IFS= read -r -t 60 -u "$TABLES_OUT" reply || fail "no answer for: $4"
    IFS=$'\t' read -r errno left _ <<<"${reply/$'\t\t'/$'\t-\t'}"
    equal "$errno" "$3" "errno of: $4"
    equal "$left" - "left behind by: $4"
    [[ $reply$'\t' =~ $'\t'"device-mapper: table: "[0-9]+:[0-9]+": $kind: $2 (-$3)"$'\t' ]] ||
        fail "no '$kind: $2 (-$3)' in '${reply//$'\t'/ | }' for: $4"
}
