# The first steps of a rootless engine and of bubblewrap, as the user $1.
set -u
user=$1
fail() {
    echo "$1: $(tail -n 3 /tmp/said)" >&2
    exit 1
}
echo "probe:x:$user:$user::/tmp:/bin/sh" >>/etc/passwd
echo "probe:x:$user:" >>/etc/group
echo "probe:100000:65536" >/etc/subuid
echo "probe:100000:65536" >/etc/subgid
as_user() { setpriv --reuid "$user" --regid "$user" --clear-groups env HOME=/tmp XDG_RUNTIME_DIR=/tmp/run "$@" >/tmp/said 2>&1; }
mkdir -p /tmp/run
chown "$user" /tmp/run
: >/tmp/said
as_user unshare --user true || fail "an ordinary user cannot make a user namespace"
as_user rootlesskit --state-dir=/tmp/run/kit true || fail "a range of ids cannot be mapped into it"
as_user bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev true || fail "bubblewrap cannot make a namespace"
