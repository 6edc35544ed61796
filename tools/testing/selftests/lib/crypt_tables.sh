# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Tables of crypt that must be refused, many by one process.

. "$(dirname "${BASH_SOURCE[0]}")/crypt.sh"
. "$KSFT_LIB/tables.sh"

CRYPT_MODULE=rdm_crypt
[ "${RDM_MODULES:-c}" != c ] || CRYPT_MODULE=dm_crypt

# The table must be refused with this text and errno, and nothing may stay.
bad() { # "text" symbol table
    table_refused "$CRYPT_MODULE" "$1" "$2" "$3" rw
}
invalid() { # "text" table
    bad "$1" EINVAL "$2"
}
bad_key() { # key cipher
    invalid "Error decoding and setting key" "$(key=$1 ctable "$2")"
}
# The line that the kernel prints of a device that is made of the table line.
shown() { # table line
    dm_create t "$1"
    dmsetup table --showkeys ksft-t
    dm_remove t
}
# A key of so many bytes, none of them zero.
key() { # bytes
    local i
    for ((i = 0; i < $1; i++)); do printf '%02x' $((i % 251 + 1)); done
}
