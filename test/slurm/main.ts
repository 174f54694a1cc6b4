/**
 * `npm run test:area -- slurm [arguments of vitest]`: the tests with a real Slurm. They run with mounts and process ids of their
 * own, which end with them: no daemon, job or mount stays, however they end. With `--where-possible` a
 * machine that cannot have a cluster is no failure but a line that says why, and the packages are removed afterwards.
 */
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  areaArgs,
  exitCodeOf,
  FIRST_PROCESS,
  failureOf,
  isOptional,
  refuseArea,
  vitestOf,
} from "../tiers/optional-area.ts";
import { endWith } from "../tiers/run-phases.ts";
import { SlurmCluster } from "./cluster.ts";
import { CLUSTER_ROOT, clusterObstacle, installCluster, OWN_NAMESPACES, removeCluster } from "./cluster-root.ts";

/** What is not done by then has hung. */
const LIMIT_MS = 20 * 60_000;
/** The first process's own word for what it does before the tests where a cluster that does not start is no failure. */
const BRING_UP = "--bring-up";

const WHAT = "no Slurm can be brought up here";

endWith(areaArgs.includes(BRING_UP) ? await bringUp() : await run());

async function run(): Promise<number> {
  const obstacle = clusterObstacle();
  if (obstacle !== null) return refuseArea(WHAT, obstacle);
  const root = isOptional ? mkdtempSync(join(tmpdir(), "gateway-slurm-")) : CLUSTER_ROOT;
  try {
    const failure = failureOf(() => installCluster(root));
    if (failure !== null) return refuseArea(WHAT, `cannot be installed: ${failure}`);
    if (isOptional && (await runApart(root, [process.execPath, import.meta.filename, BRING_UP])) !== 0)
      return refuseArea(WHAT, "a cluster does not start here, see above");
    return await runApart(root, vitestOf("slurm", areaArgs));
  } finally {
    if (isOptional) removeCluster(root);
  }
}

/** Starts a cluster and ends it. Throws why it does not start. */
async function bringUp(): Promise<number> {
  const cluster = new SlurmCluster();
  await cluster.up();
  await cluster.down();
  return 0;
}

/** Runs a command with a cluster's root and namespaces of its own; its exit code. */
async function runApart(root: string, words: readonly string[]): Promise<number> {
  const command = [...FIRST_PROCESS, ...words];
  const env = { ...process.env, TEST_SLURM_ROOT: root };
  return await exitCodeOf(spawn("unshare", [...OWN_NAMESPACES, ...command], { env, stdio: "inherit" }), LIMIT_MS);
}
