/**
 * `npm run test:slurm [-- --where-possible] [arguments of vitest]`: the tests with a real Slurm. They run with mounts and
 * process ids of their own, which end with them: no daemon, job or mount stays, however they end. With `--where-possible` a
 * machine that cannot have a cluster is no failure but a line that says why, and the packages are removed afterwards.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CLUSTER_ROOT, clusterObstacle, installCluster, OWN_NAMESPACES, removeCluster } from "./cluster-root.ts";

/** What is not done by then has hung. */
const LIMIT_MS = 20 * 60_000;
const VITEST = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");
/** Waits for its child and for what the child leaves behind, as the first process of its kind has to. */
const FIRST_PROCESS = ["bash", "-c", '"$@"; exit $?', "bash"] as const;

const args = process.argv.slice(2);
const isOptional = args.includes("--where-possible");
const vitestArgs = args.filter((arg) => arg !== "--where-possible");

process.exitCode = await run();

/** The exit code. */
async function run(): Promise<number> {
  const obstacle = clusterObstacle();
  if (obstacle !== null) return refuse(obstacle);
  const root = isOptional ? mkdtempSync(join(tmpdir(), "gateway-slurm-")) : CLUSTER_ROOT;
  try {
    const failure = installFailure(root);
    return failure === null ? await runApart(root) : refuse(`cannot be installed: ${failure}`);
  } finally {
    if (isOptional) removeCluster(root);
  }
}

function refuse(reason: string): number {
  process.stdout.write(isOptional ? `skipped: ${reason}\n` : `no Slurm can be brought up here: ${reason}\n`);
  return isOptional ? 0 : 1;
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

async function runApart(root: string): Promise<number> {
  const command = [...FIRST_PROCESS, process.execPath, VITEST, "run", "--project", "slurm", ...vitestArgs];
  const env = { ...process.env, TEST_SLURM_ROOT: root };
  const child = spawn("unshare", [...OWN_NAMESPACES, ...command], { env, stdio: "inherit" });
  const kill = (): void => {
    child.kill("SIGKILL");
  };
  const timer = setTimeout(kill, LIMIT_MS);
  for (const event of ["SIGINT", "SIGTERM", "SIGHUP", "disconnect"]) process.once(event, kill);
  const [code] = (await once(child, "exit")) as [number | null];
  clearTimeout(timer);
  if (process.connected) process.disconnect();
  if (code === null) process.stderr.write("the tests were ended before they were done\n");
  return code ?? 1;
}
