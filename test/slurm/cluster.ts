/**
 * A real Slurm with one node and four made-up GPUs on this machine, from Debian's packages, in a folder of its own that is
 * also its root. Needs root, a Debian machine and a minute for the first start. Its processes are known by their files of
 * process ids, so that any process of the tests can stop and start one of them.
 */
import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism, hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { waitFor } from "../harness/wait-for.ts";

const PACKAGES = ["slurm-wlm", "slurmrestd", "slurm-wlm-jwt-plugin", "iproute2"];
const RELEASE = "trixie";
const GPUS = 4;
const PORT = 16_820;
const START_MS = 60_000;
/** Where the node binary and the model server are, for jobs. */
export const JOB_FILES = "/opt/gateway";

/** Daemons in the order of their start. */
const DAEMONS = ["slurmctld", "slurmd", "slurmrestd"] as const;
type Daemon = (typeof DAEMONS)[number];

export class SlurmCluster {
  readonly root: string;
  readonly url = `http://127.0.0.1:${PORT}`;
  readonly user = "root";
  readonly partition = "gpu";
  readonly host: string = hostname().split(".")[0] ?? "localhost";

  constructor(root = process.env["TEST_SLURM_ROOT"] ?? join(tmpdir(), "gateway-test-slurm")) {
    this.root = root;
  }

  /** Why it cannot be brought up here; null when it can. */
  static obstacle(): string | null {
    if (process.getuid?.() !== 0) return "needs root";
    return existsSync("/etc/debian_version") ? null : "needs Debian's packages";
  }

  /** Installs what is missing and starts everything; ends when the node is ready for jobs. */
  async up(): Promise<void> {
    if (!existsSync(join(this.root, ".installed"))) this.#install();
    this.#configure();
    this.stop();
    for (const daemon of DAEMONS) await this.start(daemon);
    await waitFor(
      () => {
        this.run("scontrol", "update", `NodeName=${this.host}`, "State=RESUME");
        return this.run("sinfo", "-h", "-o", "%T").stdout.trim();
      },
      (state) => /idle|mixed|allocated/.test(state),
      START_MS,
    );
    await this.#cancelAll();
  }

  /** Ends every job and every daemon. */
  async down(): Promise<void> {
    await this.#cancelAll();
    this.stop();
    this.#unmount();
  }

  /** A command inside the folder: squeue, scancel, scontrol. */
  run(command: string, ...args: readonly string[]): SpawnSyncReturns<string> {
    return spawnSync("chroot", [this.root, command, ...args], { encoding: "utf8" });
  }

  /** A token that ends after so many seconds. */
  token(lifespanSecs = 86_400): string {
    const { stdout, stderr } = this.run("scontrol", "token", `lifespan=${lifespanSecs}`, `username=${this.user}`);
    const token = /^SLURM_JWT=(\S+)/m.exec(stdout)?.[1];
    if (token === undefined) throw new Error(`no token: ${stderr}`);
    return token;
  }

  async start(daemon: Daemon): Promise<void> {
    const out = openSync(this.#file(`${daemon}.log`), "a");
    const child = spawn("chroot", [this.root, ...this.#command(daemon)], {
      detached: true,
      stdio: ["ignore", out, out],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", ...(daemon === "slurmrestd" ? { SLURM_JWT: "daemon" } : {}) },
    });
    child.unref();
    writeFileSync(this.#file(`${daemon}.pid`), String(child.pid));
    if (daemon !== "slurmctld") return;
    await waitFor(
      () => this.run("scontrol", "ping").stdout,
      (text) => text.includes("UP"),
      START_MS,
    );
  }

  /** Kills one daemon, or all of them; jobs of a killed slurmd run on. */
  stop(...only: readonly Daemon[]): void {
    for (const daemon of only.length === 0 ? [...DAEMONS].reverse() : only) {
      const file = this.#file(`${daemon}.pid`);
      if (!existsSync(file)) continue;
      const pid = Number(readFileSync(file, "utf8"));
      // The number may be another process's by now, which does not have this folder for its root.
      if (rootOf(pid) === this.root) process.kill(pid, "SIGKILL");
      rmSync(file);
    }
  }

  async #cancelAll(): Promise<void> {
    this.run("scancel", "--user=root");
    await waitFor(
      () => this.run("squeue", "-h").stdout,
      (jobs) => jobs.trim() === "",
      START_MS,
    );
  }

  #file(name: string): string {
    return join(this.root, "run", name);
  }

  #command(daemon: Daemon): readonly string[] {
    switch (daemon) {
      case "slurmctld":
        return ["slurmctld", "-D"];
      case "slurmd":
        return ["slurmd", "-D", "-N", this.host];
      case "slurmrestd":
        return ["slurmrestd", "-s", "slurmctld", "-u", "slurmrest", "-a", "rest_auth/jwt", `127.0.0.1:${PORT}`];
      default:
        return daemon satisfies never;
    }
  }

  #install(): void {
    if (spawnSync("which", ["debootstrap"]).status !== 0) must("apt-get", "install", "-y", "-qq", "debootstrap");
    const policy = spawnSync("apt-cache", ["policy"], { encoding: "utf8" }).stdout;
    const mirrors = [...policy.matchAll(/(https?:\/\/\S+) [a-z]+\/main/g)].map(([, url]) => url ?? "");
    const mirror = mirrors.find((url) => !url.includes("security")) ?? "http://deb.debian.org/debian";
    // Below a mounted folder lie the machine's own devices.
    this.#unmount();
    rmSync(this.root, { recursive: true, force: true });
    must("debootstrap", "--variant=minbase", `--include=${PACKAGES.join(",")}`, RELEASE, this.root, mirror);
    must("chroot", this.root, "useradd", "-r", "slurmrest");
    writeFileSync(join(this.root, ".installed"), "");
  }

  /** Takes the machine's folders out of the root. Throws while one of them is in use. */
  #unmount(): void {
    for (const folder of ["dev", "proc"].map((name) => join(this.root, name)))
      if (isMounted(folder)) must("umount", folder);
  }

  #configure(): void {
    const at = (...path: readonly string[]): string => join(this.root, ...path);
    for (const folder of ["etc/slurm", "run", "var/spool/slurmctld", "var/spool/slurmd", "var/log/slurm"])
      mkdirSync(at(folder), { recursive: true });
    for (const [folder, ...how] of [
      ["proc", "-t", "proc", "proc"],
      ["dev", "--bind", "/dev"],
    ] as const) {
      if (!isMounted(at(folder))) must("mount", ...how, at(folder));
    }
    copyFileSync("/etc/hosts", at("etc/hosts"));
    appendFileSync(at("etc/hosts"), `\n127.0.0.1 ${this.host}\n`);
    for (const [file, bytes] of [
      ["var/spool/slurmctld/jwt.key", 32],
      ["etc/slurm/slurm.key", 1024],
    ] as const)
      if (!existsSync(at(file))) writeFileSync(at(file), randomBytes(bytes), { mode: 0o600 });
    for (let gpu = 0; gpu < GPUS; gpu += 1)
      if (!existsSync(at(`opt/gpu${gpu}`))) must("mknod", at(`opt/gpu${gpu}`), "c", "1", "3");
    writeFileSync(at("etc/slurm/cgroup.conf"), "CgroupPlugin=disabled\nIgnoreSystemd=yes\n");
    writeFileSync(at("etc/slurm/gres.conf"), `Name=gpu File=/opt/gpu[0-${GPUS - 1}]\n`);
    writeFileSync(at("etc/slurm/slurm.conf"), `${this.#slurmConf().join("\n")}\n`);
    mkdirSync(at(JOB_FILES), { recursive: true });
    // under another name first: a job of an earlier run may still use the old file
    copyFileSync(process.execPath, at(JOB_FILES, "node.new"));
    renameSync(at(JOB_FILES, "node.new"), at(JOB_FILES, "node"));
    copyFileSync(join(import.meta.dirname, "model-server.mjs"), at(JOB_FILES, "model-server.mjs"));
  }

  /** One node; two partitions, one of which refuses jobs that want more than ten minutes. */
  #slurmConf(): readonly string[] {
    const state = "/var/spool/slurmctld";
    return [
      "ClusterName=test",
      `SlurmctldHost=${this.host}(127.0.0.1)`,
      "SlurmUser=root",
      "SlurmdUser=root",
      "SlurmctldPort=16817",
      "SlurmdPort=16818",
      "AuthType=auth/slurm",
      "CredType=cred/slurm",
      "AuthAltTypes=auth/jwt",
      `AuthAltParameters=jwt_key=${state}/jwt.key`,
      `StateSaveLocation=${state}`,
      "SlurmdSpoolDir=/var/spool/slurmd",
      "SlurmctldPidFile=/run/ctld.pid",
      "SlurmdPidFile=/run/d.pid",
      "ProctrackType=proctrack/linuxproc",
      "TaskPlugin=task/none",
      "JobAcctGatherType=jobacct_gather/none",
      "SelectType=select/cons_tres",
      "SelectTypeParameters=CR_Core",
      "GresTypes=gpu",
      "MpiDefault=none",
      "SchedulerParameters=sched_interval=1",
      "KillWait=2",
      "MinJobAge=30",
      "ReturnToService=2",
      "InactiveLimit=0",
      "EnforcePartLimits=ALL",
      `NodeName=${this.host} NodeAddr=127.0.0.1 CPUs=${availableParallelism()} RealMemory=2000 Gres=gpu:${GPUS} State=UNKNOWN`,
      "PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:16",
      "PartitionName=short Nodes=ALL MaxTime=10 State=UP OverSubscribe=FORCE:16",
    ];
  }
}

function isMounted(folder: string): boolean {
  return existsSync(folder) && spawnSync("mountpoint", ["-q", folder]).status === 0;
}

/** The root folder of a process; null: there is no such process. */
function rootOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/root`);
  } catch {
    return null;
  }
}

function must(command: string, ...args: readonly string[]): void {
  const { status, stderr, stdout } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${stderr || stdout}`.slice(0, 2000));
}
