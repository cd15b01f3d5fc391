#!/usr/bin/env bash
# What the engine says of a running box is what --dry-run=json said: each field
# that the plan decides, and in every other one the engine's own default.
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

t "the launcher is built" tool toy-box

# The comparison. The defaults are those of a container without any option.
cat >"$scratch/compare" <<'PYTHON'
import json, sys

plan, box, bare = (json.load(open(path)) for path in sys.argv[1:4])
box, bare = box[0], bare[0]
security, limits = plan["security"], plan.get("limits", {})
tty, stdin = plan["terminal"]["tty"], True

mounts = []
for m in plan["mounts"]:
    mounts.append({"Type": "bind", "Source": m["source"], "Target": m["target"], **({"ReadOnly": True} if m.get("readOnly") else {})})
for v in plan.get("volumes", []):
    options = {"NoCopy": True, **({"Labels": v["labels"]} if v.get("labels") else {})}
    mounts.append({"Type": "volume", **({"Source": v["name"]} if v.get("name") else {}), "Target": v["target"], "VolumeOptions": options})
for m in plan.get("tmpfs", []):
    options = {"Mode": m["mode"], **({"SizeBytes": m["sizeBytes"]} if m.get("sizeBytes") else {})}
    mounts.append({"Type": "tmpfs", "Target": m["target"], "TmpfsOptions": options})

host = dict(bare["HostConfig"])
host.update({
    "Init": False,
    "LogConfig": {"Type": "none", "Config": {}},
    "NetworkMode": plan["network"].get("mode") or host["NetworkMode"],
    "Runtime": security.get("runtime") or host["Runtime"],
    "Privileged": bool(security.get("privileged")),
    "CapDrop": ["ALL"],
    "CapAdd": sorted("CAP_" + c["name"] for c in security["capAdd"]),
    "Mounts": mounts,
    "Memory": limits.get("memoryBytes", 0),
    "NanoCpus": limits.get("nanoCpus", 0),
    "PidsLimit": limits.get("pidsLimit") or host["PidsLimit"],
    "Devices": [{"PathOnHost": d["path"], "PathInContainer": d["path"], "CgroupPermissions": "rwm"} for d in plan.get("devices", [])],
    "ConsoleSize": box["HostConfig"]["ConsoleSize"],
})
if security.get("unmaskProc"):
    host["MaskedPaths"] = host["ReadonlyPaths"] = []
# The engine's own consequence of a memory limit.
if host["Memory"]:
    host["MemorySwap"] = 2 * host["Memory"]

config = dict(bare["Config"])
config.update({
    "Hostname": plan["hostname"], "Image": plan["image"]["ref"], "Tty": tty,
    "Entrypoint": [plan["init"]], "User": "0:0", "Healthcheck": {"Test": ["NONE"]},
    "OpenStdin": True, "StdinOnce": True, "AttachStdin": True, "AttachStdout": True, "AttachStderr": True,
    "Labels": {**(config["Labels"] or {}), **plan["labels"]},
})

found = []
# A client may leave out what another sends empty; "no" is what an empty policy is.
def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if plain(v)} or 0
    if isinstance(value, list):
        return [plain(v) for v in value] or 0
    return 0 if value == "no" else value or 0
def differ(where, want, got):
    want, got = plain(want), plain(got)
    if want != got:
        found.append(f"{where}: planned {json.dumps(want)}, is {json.dumps(got)}")

options = box["HostConfig"].pop("SecurityOpt") or []
host.pop("SecurityOpt", None)
named = [o for o in options if o.startswith("seccomp=")]
differ("seccomp profiles", 1, len(named))
for o in named:
    differ("seccomp is a profile", "SCMP_ACT_ERRNO", json.loads(o[len("seccomp="):])["defaultAction"])
differ("other security options", ["apparmor=" + security["appArmor"]] if security.get("appArmor") else [], [o for o in options if not o.startswith("seccomp=")])
# No field is left out, also none that this engine has and the plan does not know.
for name in sorted(set(host) | set(box["HostConfig"])):
    if name != "SecurityOpt":
        differ("HostConfig." + name, host.get(name), box["HostConfig"].get(name))
for name in sorted(set(config) | set(box["Config"])):
    if name == "Labels":
        # Who launched it is another process.
        own = lambda labels: {k: v for k, v in labels.items() if not k.startswith("dev.agent-cage.launcher.") or k.endswith((".boot", ".machine", ".uid"))}
        differ("Config.Labels", own(config[name]), own(box["Config"][name]))
        differ("Config.Labels names", sorted(config[name]), sorted(box["Config"][name]))
    else:
        differ("Config." + name, config.get(name), box["Config"].get(name))
differ("Name", "/" + plan["name"], box["Name"])
differ("mount points", sorted(m["Target"] for m in mounts), sorted(m["Destination"] for m in box["Mounts"]))
print("\n".join(found))
sys.exit(bool(found))
PYTHON

toy_is_built() { (cd "$(new_project)" && exec "$tools/toy-box" --engine none --exec true); }

bare_container() {
    local id
    id=$(docker create agent-cage-toy) || return
    docker inspect "$id" >"$scratch/bare.json"
    docker rm "$id"
}

# same NAME OPTION...: a box with these options.
same() {
    local name=plan-$$-$1 tries=0 good
    shift
    project=$(new_project) && chmod 0755 "$project" || return
    (cd "$project" && "$tools/toy-box" --engine none --name "$name" "$@" --dry-run=json --exec sleep 30) >"$scratch/plan.json" || return
    (cd "$project" && exec "$tools/toy-box" --engine none --name "$name" "$@" --exec sleep 30) >"$scratch/log" 2>&1 &
    until docker inspect "$name" >"$scratch/box.json" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || { cat "$scratch/log"; return 1; }
        sleep 0.1
    done
    python3 "$scratch/compare" "$scratch/plan.json" "$scratch/box.json" "$scratch/bare.json"
    good=$?
    docker kill "$name"
    wait
    return $good
}

# line_same NAME OPTION...: a container that the line of --dry-run=docker makes.
line_same() {
    local name=line-$$-$1 line good
    shift
    project=$(new_project) && chmod 0755 "$project" || return
    (cd "$project" && "$tools/toy-box" --engine none --name "$name" "$@" --dry-run=json --exec sleep 30) >"$scratch/plan.json" &&
        line=$(cd "$project" && "$tools/toy-box" --engine none --name "$name" "$@" --dry-run=docker --exec sleep 30) || return
    is "docker run" "${line:0:10}" && eval "docker create${line#docker run}" && docker inspect "$name" >"$scratch/box.json" && python3 "$scratch/compare" "$scratch/plan.json" "$scratch/box.json" "$scratch/bare.json"
    good=$?
    docker rm -v "$name"
    return $good
}

# A plan that says something else is found out.
seen() {
    python3 - "$1" "$scratch/plan.json" >"$scratch/other.json" <<-'PYTHON' || return
		import json, sys
		plan = json.load(open(sys.argv[2]))
		exec(sys.argv[1])
		print(json.dumps(plan))
	PYTHON
    not python3 "$scratch/compare" "$scratch/other.json" "$scratch/box.json" "$scratch/bare.json"
}

extra() {
    mkdir -p "$scratch/a,b c=d"
    TOY_BOX_EXTRA_MOUNTS="$scratch/a,b c=d:/elsewhere:ro" same extra --network none
}

t "the image is built" toy_is_built
t "a container without options" bare_container
t "a plain box" same plain
t "a rootless engine" same rootless --engine rootless
t "a plan without a volume is seen" seen 'del plan["volumes"]'
t "a plan with masks is seen" seen 'del plan["security"]["unmaskProc"]'
t "a rootless engine that keeps nothing" same forgetful --engine rootless --engine-cache off
t "limits, a network, a user" same all --memory 256m --cpus 1.5 --pids-limit 100 --network host --user 1234:1235
t "a plan without a limit is seen" seen 'del plan["limits"]["pidsLimit"]'
t "a plan with fewer capabilities is seen" seen 'plan["security"]["capAdd"].pop()'
t "a plan with a read-only project is seen" seen 'plan["mounts"][0]["readOnly"] = True'
t "a plan with another confinement is seen" seen 'plan["security"]["appArmor"] = "unconfined"'
t "a mount with separators in its name" extra
t "the docker line: a plain box" line_same plain
t "the docker line: a rootless engine" line_same rootless --engine rootless
t "the docker line: limits, a network, a user" line_same all --memory 256m --cpus 1.5 --pids-limit 100 --network host --user 1234:1235
finish
