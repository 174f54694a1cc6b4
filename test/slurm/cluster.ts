/**
 * A real Slurm with two nodes, made-up GPUs, accounting and its REST service on this machine, from Debian's packages, in a
 * folder that is also its root. Its processes are known by their files of process ids, so that any process of the tests can
 * stop and start one of them.
 */
import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { isListening } from "../harness/own-port.ts";
import { waitFor } from "../harness/wait-for.ts";
import { LIMITED, NODES, PORTS } from "./cluster-files.ts";
import { CLUSTER_ROOT, configureCluster, installCluster, rootOf, unmountCluster } from "./cluster-root.ts";

const START_MS = 60_000;
/** States of a node, as `sinfo` says them, with a mark at a node that the next job is planned for. */
const TAKES_JOBS = /^(idle|mixed|allocated|planned)-?$/;

/** Daemons in the order of their start. */
const DAEMONS = ["mariadbd", "slurmdbd", "slurmctld", ...NODES, "slurmrestd"] as const;
type Daemon = (typeof DAEMONS)[number];

export class SlurmCluster {
  readonly url = `http://127.0.0.1:${PORTS.slurmrestd}`;
  readonly user = "gateway";
  readonly #root = CLUSTER_ROOT;
  readonly #host: string = hostname().split(".")[0] ?? "localhost";

  /** Installs what is missing and starts everything; ends when all nodes are ready for jobs. */
  async up(): Promise<void> {
    await refuseShared();
    installCluster(this.#root);
    configureCluster(this.#root, this.#host);
    for (const daemon of DAEMONS) await this.start(daemon);
    this.#makeAccounts();
    await this.resumeNodes();
  }

  /** Puts nodes back into service that a test, or Slurm itself, has drained; ends when all of them take jobs. */
  async resumeNodes(): Promise<void> {
    await waitFor(
      () =>
        NODES.map((node) => {
          const state = this.run("sinfo", "-h", "-n", node, "-p", "gpu", "-o", "%T").stdout.trim();
          if (state.startsWith("drain")) this.run("scontrol", "update", `NodeName=${node}`, "State=RESUME");
          return state;
        }),
      (states) => states.every((state) => TAKES_JOBS.test(state)),
      START_MS,
    );
  }

  /** Ends every job and every daemon. */
  async down(): Promise<void> {
    this.run("scancel", `--user=${this.user}`);
    await waitFor(
      () => this.run("squeue", "-h").stdout,
      (jobs) => jobs.trim() === "",
      START_MS,
    );
    await this.stop(...DAEMONS);
    unmountCluster(this.#root);
  }

  /** A command inside the folder: squeue, scancel, scontrol. */
  run(command: string, ...args: readonly string[]): SpawnSyncReturns<string> {
    return spawnSync("chroot", [this.#root, command, ...args], { encoding: "utf8" });
  }

  /** A token that ends after so many seconds. */
  token(lifespanSecs = 86_400): string {
    const { stdout, stderr } = this.run("scontrol", "token", `lifespan=${lifespanSecs}`, `username=${this.user}`);
    const token = /^SLURM_JWT=(\S+)/m.exec(stdout)?.[1];
    if (token === undefined) throw new Error(`no token: ${stderr}`);
    return token;
  }

  /** Starts a daemon; ends when it answers, where another one depends on that. */
  async start(daemon: Daemon): Promise<void> {
    const out = openSync(this.#file(`${daemon}.log`), "a");
    const child = spawn("chroot", [this.#root, ...commandOf(daemon)], {
      detached: true,
      stdio: ["ignore", out, out],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", ...(daemon === "slurmrestd" ? { SLURM_JWT: "daemon" } : {}) },
    });
    child.unref();
    writeFileSync(this.#file(`${daemon}.pid`), String(child.pid));
    const ready = this.#readyWhen(daemon);
    if (ready === null) return;
    await waitFor(
      () => {
        if (child.exitCode !== null)
          throw new Error(`${daemon} ended: ${readFileSync(this.#file(`${daemon}.log`), "utf8").slice(-2000)}`);
        return ready();
      },
      (isReady) => isReady,
      START_MS,
    );
  }

  /** Ends daemons, the last one first, and lets each save what it knows. */
  async stop(...daemons: readonly Daemon[]): Promise<void> {
    for (const daemon of DAEMONS.filter((one) => daemons.includes(one)).reverse()) {
      const pid = this.#signal(daemon, "SIGTERM");
      if (pid !== null)
        await waitFor(
          () => rootOf(pid),
          (root) => root !== this.#root,
          START_MS,
        );
      rmSync(this.#file(`${daemon}.pid`), { force: true });
    }
  }

  /** Kills a daemon, which forgets what it has not saved yet. */
  kill(daemon: Daemon): void {
    this.#signal(daemon, "SIGKILL");
    rmSync(this.#file(`${daemon}.pid`), { force: true });
  }

  /** Sends a signal; the number of the process, null when the daemon does not run. */
  #signal(daemon: Daemon, signal: NodeJS.Signals): number | null {
    const file = this.#file(`${daemon}.pid`);
    if (!existsSync(file)) return null;
    const pid = Number(readFileSync(file, "utf8"));
    // the number may be another process's by now, which does not have this folder for its root
    if (rootOf(pid) !== this.#root) return null;
    process.kill(pid, signal);
    return pid;
  }

  #file(name: string): string {
    return join(this.#root, "run", name);
  }

  #readyWhen(daemon: Daemon): (() => boolean) | null {
    if (daemon === "mariadbd") return () => this.run("mariadb", "-e", "select 1").status === 0;
    if (daemon === "slurmdbd") return () => this.run("sacctmgr", "-n", "show", "qos").status === 0;
    return daemon === "slurmctld" ? () => this.run("scontrol", "ping").stdout.includes("UP") : null;
  }

  /** The gateway's user, with an account of its own and one whose limits are soon reached. */
  #makeAccounts(): void {
    const { account, qos } = LIMITED;
    for (const what of [
      ["cluster", "test"],
      ["account", "models", "Cluster=test"],
      ["account", account, "Cluster=test"],
      ["user", this.user, "Account=models", "Cluster=test", "DefaultAccount=models"],
      ["user", this.user, `Account=${account}`, "Cluster=test", "MaxSubmitJobs=1"],
      ["qos", qos, "MaxTRESPerJob=gres/gpu=1", "Flags=DenyOnLimit"],
    ])
      this.run("sacctmgr", "-i", "add", ...what);
    const { status, stdout, stderr } = this.run("sacctmgr", "-i", "modify", "user", this.user, "set", `qos+=${qos}`);
    if (status !== 0) throw new Error(`accounts: ${stderr}${stdout}`);
  }
}

function commandOf(daemon: Daemon): readonly string[] {
  switch (daemon) {
    case "mariadbd":
      return ["mariadbd", "--user=root", "--skip-networking", "--socket=/run/mysqld/mysqld.sock"];
    case "slurmdbd":
    case "slurmctld":
      return [daemon, "-D"];
    case "n1":
    case "n2":
      return ["slurmd", "-D", "-N", daemon];
    case "slurmrestd": {
      const services = ["-s", "slurmctld,slurmdbd", "-u", "slurmrest", "-a", "rest_auth/jwt"];
      return [daemon, ...services, `127.0.0.1:${PORTS.slurmrestd}`];
    }
    default:
      return daemon satisfies never;
  }
}

/** Two runs on one machine would end one another's jobs. Throws while something listens on a port of the cluster. */
async function refuseShared(): Promise<void> {
  for (const port of Object.values(PORTS)) {
    if (await isListening(port)) throw new Error(`port ${port} is taken: another test cluster runs on this machine`);
  }
}
