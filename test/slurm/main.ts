/**
 * `npm run test:area -- slurm [arguments of vitest]`: the tests with a real Slurm. They run with mounts and process ids of their
 * own, which end with them: no daemon, job or mount stays, however they end. With `--where-possible` a
 * machine that cannot have a cluster is no failure but a line that says why, and the packages are removed afterwards.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SKIPPED } from "../tiers/run-phases.ts";
import { SlurmCluster } from "./cluster.ts";
import { CLUSTER_ROOT, clusterObstacle, installCluster, OWN_NAMESPACES, removeCluster } from "./cluster-root.ts";

/** What is not done by then has hung. */
const LIMIT_MS = 20 * 60_000;
const VITEST = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");
/** Waits for its child and for what the child leaves behind, as the first process of its kind has to. */
const FIRST_PROCESS = ["bash", "-c", '"$@"; exit $?', "bash"] as const;

/** The first process's own word for what it does before the tests where a cluster that does not start is no failure. */
const BRING_UP = "--bring-up";

const args = process.argv.slice(2);
const isOptional = args.includes("--where-possible");
const vitestArgs = args.filter((arg) => arg !== "--where-possible");

if (args.includes(BRING_UP)) await bringUp();
else process.exitCode = await run();
// the launcher's channel would keep this process
if (process.connected) process.disconnect();

/** The exit code. */
async function run(): Promise<number> {
  const obstacle = clusterObstacle();
  if (obstacle !== null) return refuse(obstacle);
  const root = isOptional ? mkdtempSync(join(tmpdir(), "gateway-slurm-")) : CLUSTER_ROOT;
  try {
    const failure = installFailure(root);
    if (failure !== null) return refuse(`cannot be installed: ${failure}`);
    if (isOptional && (await runApart(root, [import.meta.filename, BRING_UP])) !== 0)
      return refuse("a cluster does not start here, see above");
    return await runApart(root, [VITEST, "run", "--project", "slurm", ...vitestArgs]);
  } finally {
    if (isOptional) removeCluster(root);
  }
}

function refuse(reason: string): number {
  process.stdout.write(isOptional ? `skipped: ${reason}\n` : `no Slurm can be brought up here: ${reason}\n`);
  return isOptional ? SKIPPED : 1;
}

/** Why the packages cannot be had; null when they are there. */
function installFailure(root: string): string | null {
  try {
    installCluster(root);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Starts a cluster and ends it. Throws why it does not start. */
async function bringUp(): Promise<void> {
  const cluster = new SlurmCluster();
  await cluster.up();
  await cluster.down();
}

/** Runs a script with a cluster's root and namespaces of its own; its exit code. */
async function runApart(root: string, script: readonly string[]): Promise<number> {
  const command = [...FIRST_PROCESS, process.execPath, ...script];
  const env = { ...process.env, TEST_SLURM_ROOT: root };
  const child = spawn("unshare", [...OWN_NAMESPACES, ...command], { env, stdio: "inherit" });
  const kill = (): void => {
    child.kill("SIGKILL");
  };
  const timer = setTimeout(kill, LIMIT_MS);
  const ends = ["SIGINT", "SIGTERM", "SIGHUP", "disconnect"];
  for (const event of ends) process.on(event, kill);
  const [code] = (await once(child, "exit")) as [number | null];
  for (const event of ends) process.off(event, kill);
  clearTimeout(timer);
  if (code === null) process.stderr.write("the tests were ended before they were done\n");
  return code ?? 1;
}
