/**
 * A fresh Debian machine as a folder, with a container engine of its own that has mounts, processes and a network apart from this
 * machine's. Nothing of the engine outlives the process that starts it. Needs root and Debian.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { areaObstacle, installTools, must } from "../../tiers/optional-area.ts";
import { addNode, makeDebian, pinnedBase } from "../base.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** Where the machine has the copy of the project on which the commands of the documentation run. */
const PROJECT = "root/gateway";
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
/** What the network of {@link connect} answers names at. */
const NAME_SERVER = "10.0.2.3";
/** What is not done by then has hung. */
const COMMAND_MS = 10 * 60_000;
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Open files of a container, where this machine lets the engine not raise them. */
const OPEN_FILES = 1_048_576;

/** Options of `unshare`: mounts, processes and a network that end with its command. */
export const MACHINE_NAMESPACES = ["--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc"] as const;

export interface FreshMachine {
  /** Its root, as a folder of this machine. */
  readonly root: string;
  /** A process within it. */
  readonly pid: number;
}

/** Why there can be no such machine here; null when there can be one. */
export function machineObstacle(): string | null {
  if (!existsSync("/dev/net/tun")) return "needs /dev/net/tun";
  if (!existsSync("/sys/fs/cgroup")) return "needs control groups";
  return areaObstacle("unshare", ...MACHINE_NAMESPACES, "mount", "-t", "tmpfs", "none", "/tmp");
}

/** Makes the machine in `folder`: a small Debian, what `install` installs on it, and a copy of the project. Throws what fails. */
export function makeMachine(folder: string, install: string): void {
  installTools("debootstrap", "slirp4netns");
  const [base, root] = [join(folder, "base"), join(folder, "machine")];
  makeDebian(base);
  must("cp", "-a", base, root);
  addNode(base);
  for (const place of [join(root, "root/.npmrc"), join(base, "usr/local/etc/npmrc")]) {
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, `cafile=${CERTIFICATES}\nregistry=${must("npm", "config", "get", "registry")}\n`);
  }
  copyFileSync("/etc/resolv.conf", join(root, "etc/resolv.conf"));
  const quiet = "export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1; apt-get update -qq";
  must(
    "unshare",
    "--mount",
    "sh",
    "-c",
    `mount -t proc proc "$0/proc"; exec chroot "$0" sh -c "$1"`,
    root,
    `${quiet} && ${install}`,
  );
  const files = must("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard").split("\n");
  for (const file of files) if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(root, PROJECT, file));
}

/** Gives the network of a process a way out; resolves with the process that is the way. */
export async function connect(pid: number): Promise<ChildProcess> {
  const way = spawn(
    "slirp4netns",
    ["--configure", "--mtu=65520", "--disable-host-loopback", "--ready-fd=3", String(pid), "tap0"],
    {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    },
  );
  const ready = way.stdio[3];
  if (ready === null || ready === undefined) throw new Error("slirp4netns has no channel");
  const exited = once(way, "exit").then(() => Promise.reject(new Error("slirp4netns ended")));
  await Promise.race([once(ready as NodeJS.ReadableStream, "data"), exited]);
  return way;
}

/**
 * The first process of the machine: mounts what a machine has, makes `root` the root of its mounts, so that the engine may enter
 * its containers, and becomes the engine.
 */
const BOOT = `
set -e
root=$1 checkout=$2 names=$3; shift 3
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
for folder in run tmp; do mount -t tmpfs -o mode=1777 tmpfs "$root/$folder"; done
mkdir -p "$root/checkout" "$root/outside"
mount --bind "$checkout" "$root/checkout"
echo "nameserver $names" >"$root/etc/resolv.conf"
cd "$root"
pivot_root . outside
exec chroot . sh -c 'umount -l /outside; exec "$@"' sh "$@"
`;

/** Starts the engine of a machine in `folder`, with the base of the images loaded. Throws what it says when it does not start. */
export async function startEngine(folder: string): Promise<FreshMachine & { readonly stop: () => Promise<void> }> {
  const root = join(folder, "machine");
  const log = join(folder, "engine.log");
  const most = Number(spawnSync("sh", ["-c", "ulimit -Hn"], { encoding: "utf8" }).stdout);
  const limit = most < OPEN_FILES ? [`--default-ulimit=nofile=${most}:${most}`] : [];
  const engine = spawn(
    "unshare",
    ["--mount", "sh", "-c", `exec 2>"$0" >&2; ${BOOT}`, log, root, ROOT, NAME_SERVER, "dockerd", ...limit],
    { stdio: "ignore" },
  );
  const exited = once(engine, "exit");
  const machine = { root, pid: engine.pid ?? 0 };
  const until = Date.now() + 60_000;
  while (engine.exitCode === null && Date.now() < until) {
    if ((await inMachine(machine, "docker info").catch(() => null)) !== null) break;
    await pause(200);
  }
  if (engine.exitCode !== null || Date.now() >= until)
    throw new Error(`the engine does not start: ${readFileSync(log, "utf8").slice(-1_000)}`);
  const base = join(folder, "base");
  const load = `tar -C "$0" -c . | nsenter -t ${machine.pid} -m -p docker import - ${pinnedBase()}`;
  must("sh", "-c", load, base);
  rmSync(base, { recursive: true });
  return {
    ...machine,
    stop: async () => {
      engine.kill("SIGTERM");
      await exited;
    },
  };
}

/** Runs a line of shell in the project's folder on the machine; what it prints. Rejects with what it says when it fails. */
export async function inMachine({ pid }: Pick<FreshMachine, "pid">, line: string): Promise<string> {
  const words = ["-t", String(pid), "-m", "-p", "env", "-i", "HOME=/root", `PATH=${PATH}`, "sh", "-c"];
  const run = promisify(execFile)("nsenter", [...words, `cd /${PROJECT} && ${line}`], {
    timeout: COMMAND_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  return await run.then(
    ({ stdout }) => stdout.trim(),
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`${line} failed: ${`${error.stdout}${error.stderr}`.slice(-3_000)}`);
    },
  );
}

export function projectFolder({ root }: Pick<FreshMachine, "root">): string {
  return join(root, PROJECT);
}
