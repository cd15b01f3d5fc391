"""Attacks on what is outside of the box. Each does no harm where it succeeds.

attack.py DISK MARKER NAME...: DISK is MAJOR:MINOR of one of the host's disks,
MARKER a file of the host's. A line for each: "done NAME", "refused NAME ERROR",
or "absent NAME" where there is nothing to attack.
"""
import ctypes
import errno
import os
import platform
import signal
import sys
import tempfile

libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"


class Absent(Exception):
    pass


def checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def rewrite(path):
    """Writes a kernel file's own content back into it."""
    try:
        with open(path, "rb") as f:
            content = f.read()
    except FileNotFoundError:
        raise Absent from None
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, content or b"\n")
    os.close(fd)


def core_pattern():
    rewrite("/proc/sys/kernel/core_pattern")


def sysrq():
    rewrite("/proc/sys/kernel/sysrq")


def uevent_helper():
    rewrite("/sys/kernel/uevent_helper")


def mount(source, target, kind, flags, data):
    checked(libc.mount(source, target.encode(), kind, flags, data))


def release_agent():
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        raise Absent
    with tempfile.TemporaryDirectory() as target:
        mount(b"cgroup", target, b"cgroup", 0, b"memory")
        try:
            rewrite(target + "/release_agent")
        finally:
            libc.umount2(target.encode(), 2)


def cgroup_limit():
    # Files beside the limits, which the topmost group has, too.
    for path in "/sys/fs/cgroup/memory/notify_on_release", "/sys/fs/cgroup/cgroup.max.depth":
        if not os.path.exists(path):
            continue
        try:
            rewrite(path)
        except OSError:
            ms_remount_bind = 32 | 4096
            mount(None, os.path.dirname(path), None, ms_remount_bind, None)
            rewrite(path)
        return
    raise Absent


def disk():
    path = "/tmp/attacked-disk-%d" % os.getpid()
    major, minor = sys.argv[1].split(":")
    os.mknod(path, 0o60600, os.makedev(int(major), int(minor)))
    try:
        fd = os.open(path, os.O_RDONLY)
        os.read(fd, 512)
        os.close(fd)
    finally:
        os.unlink(path)


def kcore():
    if not os.path.exists("/proc/kcore"):
        raise Absent
    with open("/proc/kcore", "rb") as f:
        if not f.read(1):
            raise PermissionError(errno.EACCES, "it is empty: masked")


def keyring():
    process_keyring = -2
    checked(libc.syscall(248 if x86 else 217, b"user", b"attack", b"x", 1, process_keyring))


def module():
    garbage = b"no module" * 100
    try:
        checked(libc.syscall(175 if x86 else 105, garbage, len(garbage), b""))
    except OSError as e:
        # The kernel has looked at it, so it would have loaded one.
        if e.errno not in (errno.ENOEXEC, errno.EBADMSG, errno.ENOKEY, errno.EKEYREJECTED):
            raise


def host_file():
    try:
        with open("/proc/1/root" + sys.argv[2]) as f:
            f.read()
    except PermissionError:
        with open(sys.argv[2]) as f:
            f.read()


def processes(wanted):
    """Returns the ids of processes whose command line has the word."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open("/proc/" + name + "/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if name.isdigit() and int(name) != os.getpid() and wanted in words:
            found.append(int(name))
    return found


def other_box():
    if not processes(b"marker-of-another-box"):
        raise PermissionError(errno.ESRCH, "no process of another box is seen")


def pid1():
    with open("/proc/1/environ", "rb") as f:
        f.read()


def signal_to(word):
    pids = processes(word)
    if not pids:
        raise Absent
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def lifeline():
    signal_to(b"lifeline")


def ptrace(pid):
    attach, detach = 16, 17
    checked(libc.ptrace(attach, pid, None, None))
    os.waitpid(pid, 0x40000000)
    libc.ptrace(detach, pid, None, None)


def engine():
    pids = processes(b"/usr/bin/rootlesskit")
    if not pids:
        raise Absent
    ptrace(pids[0])


def engine_memory():
    pids = processes(b"/usr/bin/rootlesskit")
    if not pids:
        raise Absent
    for name in "environ", "maps", "root/etc/passwd":
        with open("/proc/%d/%s" % (pids[0], name), "rb") as f:
            f.read(1)


def writes(path):
    fd = os.open(path, os.O_WRONLY | (0 if os.path.isfile(path) else os.O_TMPFILE))
    os.close(fd)


def engine_program():
    writes("/usr/sbin/dockerd")


def engine_data():
    os.listdir("/var/lib/agent-cage/engine/data")


def engine_run():
    os.listdir("/run/agent-cage/engine/run")


for name in sys.argv[3:]:
    try:
        globals()[name]()
        print("done", name)
    except Absent:
        print("absent", name)
    except OSError as e:
        print("refused", name, errno.errorcode.get(e.errno, str(e)))
    sys.stdout.flush()
