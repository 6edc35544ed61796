#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In a VM without our modules: what `make install` and `make uninstall` do, up to
# the module that the kernel loads when a table names a target. Row: X-02
#
#   scripts/vm run --modules none -- tools/testing/install.sh

set -uE
export DM_DISABLE_UDEV=1
work=/tmp/install device=/dev/mapper/ksft-install passed=0 failed=0

# The tree of the VM is read-only: /etc can be changed in memory, and the modules that are needed
# are copied there. With all of them, depmod alone would take a minute.
setup() {
    local release tree file
    release=$(uname -r) tree=$work/tree/lib/modules/$(uname -r)
    mkdir -p "$work"/{upper,work} "$tree"
    modprobe -a overlay loop
    mount -t overlay overlay /etc -o "lowerdir=/etc,upperdir=$work/upper,workdir=$work/work"
    cp "/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} "$tree"
    for file in $(modprobe -aD dm-verity | sed -n 's/^insmod //p'); do
        install -D "$file" "$work/tree/$file"
    done
    depmod -b "$work/tree" "$release"
    mount --bind "$work/tree/lib/modules" /usr/lib/modules
    truncate -s 1M "$work/data" "$work/hashes"
    veritysetup format "$work/data" "$work/hashes" |
        sed -n 's/^Root hash:[[:space:]]*//p' >"$work/root"
    [ -s "$work/root" ]
}

open() {
    veritysetup open "$work/data" "${device##*/}" "$work/hashes" "$(cat "$work/root")"
}
loaded() { grep -q "^$1 " /proc/modules; }
# The device must work, and be made by the module named.
made_by() { # module, other module
    open
    cmp -n 1048576 "$device" /dev/zero
    veritysetup close "${device##*/}"
    loaded "$1"
    ! loaded "$2"
}

test_refuses_other_kernel() {
    local out
    out=$(KVER=1.2.3 scripts/install 2>&1) && return 1
    [ "$(wc -l <<<"$out")" = 1 ]
    [[ $out == *"for kernel $(uname -r)"* ]]
    [ ! -e /etc/modprobe.d/rdm.conf ]
}
test_installs() {
    scripts/install
    [[ $(modprobe -D dm-verity) == */updates/rdm/rdm_verity.ko* ]]
    [ "$(cd "/lib/modules/$(uname -r)/updates/rdm" && echo *)" = \
        "rdm.ko rdm_crypt.ko rdm_integrity.ko rdm_verity.ko" ]
    [ "$(grep -c '^alias' /etc/modprobe.d/rdm.conf)" = 1 ]
}
test_installs_all_targets() {
    local target
    TARGETS="verity integrity crypt" scripts/install
    for target in verity integrity crypt; do
        [[ $(modprobe -D dm-$target) == */updates/rdm/rdm_$target.ko* ]]
    done
}
test_refuses_unknown_target() {
    local out
    out=$(TARGETS=nothing scripts/install 2>&1) && return 1
    [[ $out == *"there is no target nothing"* ]]
}
test_kernel_loads_ours() { made_by rdm_verity dm_verity; }
test_installs_again() { scripts/install; }
test_uninstalls() {
    scripts/install --uninstall
    [ ! -e /etc/modprobe.d/rdm.conf ]
    [ ! -e "/usr/lib/modules/$(uname -r)/updates/rdm" ]
    modprobe -r rdm_verity 2>/dev/null || rmmod rdm_verity rdm
}
test_kernel_loads_theirs() { made_by dm_verity rdm_verity; }
test_uninstalls_nothing() { scripts/install --uninstall; }

one() { # test; its status must not be asked for in a condition, which would turn -e off
    local status out=$work/out
    (set -ex; "$1") >"$out" 2>&1
    status=$?
    if [ $status = 0 ]; then
        passed=$((passed + 1))
        echo "ok $((passed + failed)) ${1#test_}"
    else
        failed=$((failed + 1))
        sed 's/^/# /' "$out"
        echo "not ok $((passed + failed)) ${1#test_}"
    fi
}

(set -e; setup) || exit
echo "KTAP version 1"
for test in refuses_other_kernel refuses_unknown_target installs kernel_loads_ours installs_again \
    installs_all_targets uninstalls kernel_loads_theirs uninstalls_nothing; do
    one "test_$test"
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
