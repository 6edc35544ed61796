#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What security modules are told of a device before its table is used, and what happens if one
# of them does not want to hear it.
# Rows: V-60 X-18
# Kernel: debian, for it has kprobes and BPF

. "$(dirname "$0")/../lib/verity.sh"
. "$(dirname "$0")/../lib/lsm.sh"
setup() { small_image; }
digest() { echo "digest 24 \"sha256\" 32 $ROOT"; }

test_told_at_each_resume() {
    attach
    lsm_watch
    vopen v
    equal "$(lsm_told)" "$(digest)
signature 0 none"
    dmsetup suspend ksft-v
    dmsetup resume ksft-v
    equal "$(lsm_told)" "$(digest)
signature 0 none
$(digest)
signature 0 none"
}
# The name of the algorithm, not of who implements it.
test_name_of_the_algorithm() {
    attach
    lsm_watch
    alg=sha256-lib vopen v || alg=sha256-generic vopen v || skip "no second name of sha256"
    equal "$(lsm_told | head -n 1)" "$(digest)"
}
test_digest_is_refused() {
    attach
    lsm_watch
    helper_start lsm_deny 1
    log_mark
    fails "Operation not permitted" vopen v
    log_has "^device-mapper: table: [0-9]+:[0-9]+: $T: preresume failed, error = -1$"
    # The signature was not mentioned then.
    equal "$(lsm_told)" "$(digest)"
    helper_stop
    vopen v
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}
# Then the module forgets the digest, too.
test_signature_is_refused() {
    attach
    lsm_watch
    helper_start lsm_deny 0
    fails "Operation not permitted" vopen v
    equal "$(lsm_told)" "$(digest)
signature 0 none
digest 0 none"
    helper_stop
}
# A device in use stays suspended, until its resume succeeds.
test_resume_is_refused() {
    attach
    vopen v
    dmsetup suspend ksft-v
    helper_start lsm_deny 1
    fails "Operation not permitted" dmsetup resume ksft-v
    equal "$(dmsetup info -c --noheadings -o suspended ksft-v)" Suspended
    helper_stop
    dmsetup resume ksft-v
    equal "$(sum "$(dev v)")" "$(sum "$DIR/data")"
}

ksft_main "$@"
