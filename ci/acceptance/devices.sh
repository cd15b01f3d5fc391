#!/usr/bin/env bash
# Devices that a box is given: GPUs and virtualization. There may be no GPU here,
# so nodes stand in for some: one that opens, one that no driver is behind.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

project=$(new_project)
toy() { launch "$tools/toy-box" "$@"; }
toy_is_built() { tool toy-box && toy --engine none 0 && ended 0; }
t "the image is built" toy_is_built

## What the engine cannot give is a fault, and no run without it.
no_gpu_driver() { toy --engine none --gpus all --exec sh -c 'echo ran'; }
if compgen -G '/dev/nvidia[0-9]*' >/dev/null; then
    skip "GPUs of a driver that the engine has not got" "this machine has GPUs"
else
    t "GPUs of a driver that the engine has not got" fault 126 engine-start-failed "its driver for containers" no_gpu_driver
fi
t "a GPU by a name that no specification has" fault 126 engine-start-failed "its driver for containers" \
    toy --engine none --gpus nowhere.invalid/gpu=0 --exec true
t "a device that is not there" fault 126 engine-start-failed "its driver for containers" toy --engine none --gpus /dev/nvidia96 --exec true
t "what is no GPU" fault 1 usage "names no GPUs" toy --engine none --gpus /dev/mem --exec true
t "virtualization behind the harness's arguments" fault 1 usage "takes part of the wall away" toy --engine none x --kvm

## What does not open in the box is one, too; what opens is the harness's.
stand_in() {
    [ ! -e "$1" ] && mknod -m 0600 "$1" c "$2" "$3" && at_exit rm -f "$1"
}
opens() {
    stand_in /dev/nvidia97 1 3 || return
    toy --engine "$1" --gpus /dev/nvidia97 --exec sh -c 'id -u && echo x >/dev/nvidia97 && ls /dev/nvidia*'
    ended 0 && is "$(stat -c %u "$project" | sed 's/^0$/1000/') /dev/nvidia97" "$(paste -sd ' ' "$scratch/out")"
    local result=$?
    rm /dev/nvidia97
    return $result
}
no_driver() {
    stand_in /dev/nvidia98 255 7 || return
    toy --engine none --gpus /dev/nvidia98 --exec touch ran
    faulted 126 engine-start-failed "/dev/nvidia98 does not open in the box" && [ ! -e "$project/ran" ] && no_box
    local result=$?
    rm /dev/nvidia98
    return $result
}
unasked() {
    stand_in /dev/nvidia97 1 3 || return
    toy --engine none --exec sh -c 'ls /dev/nvidia* /dev/kvm 2>/dev/null; exit 0'
    rm /dev/nvidia97
    ended 0 && is '' "$(cat "$scratch/out")"
}
if [ "$(id -u)" = 0 ]; then
    t "a GPU that opens" opens none
    t "and beside an engine" opens rootless
    t "a GPU that nothing drives" no_driver
    t "what nobody asked for is not there" unasked
else
    skip "GPUs that open, and that do not" "only root can make devices"
fi

kvm() {
    toy --engine none --kvm --exec sh -c 'exec 3<>/dev/kvm && echo opened'
    ended 0 && is opened "$(cat "$scratch/out")"
}
if (exec 3<>/dev/kvm) 2>/dev/null; then
    t "virtualization" kvm
elif [ -e /dev/kvm ]; then
    t "virtualization that does not open" fault 126 engine-start-failed "/dev/kvm does not open" toy --engine none --kvm --exec true
else
    t "virtualization that is not there" fault 126 engine-start-failed "its driver for containers" toy --engine none --kvm --exec true
fi
finish
