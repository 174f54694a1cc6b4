/**
 * `npm run test:area -- containers`, second step: three instances by compose on a fresh Debian machine, by the
 * commands of docs/containers.md. The machine is a folder with mounts, processes and a network of its own, which end with this
 * command; images that only a registry has are replaced (stand-ins.yaml). With `--where-possible` a machine that cannot do this is
 * no failure but a line that says why.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { areaArgs, exitCodeOf, FIRST_PROCESS, failureOf, refuseArea, vitestOf } from "../../tiers/optional-area.ts";
import { endWith } from "../../tiers/run-phases.ts";
import { connect, MACHINE_NAMESPACES, machineObstacle, makeMachine, startEngine } from "./machine.ts";
import { readWalk } from "./walk.ts";

/** What is not done by then has hung. */
const LIMIT_MS = 25 * 60_000;
/** This script's own word for what it does apart from the machine on which it was called. */
const APART = "--apart";
const WHAT = "no containers can be run here";
/** The exit code of a machine whose engine does not start. */
const NO_ENGINE = 78;

endWith(areaArgs[0] === APART ? await apart(areaArgs[1] ?? "", areaArgs.slice(2)) : await run());

async function run(): Promise<number> {
  const obstacle = machineObstacle();
  if (obstacle !== null) return refuseArea(WHAT, obstacle);
  const folder = mkdtempSync(join(tmpdir(), "gateway-compose-"));
  try {
    process.stdout.write("installing a Debian with a container engine\n");
    const failure = failureOf(() => makeMachine(folder, readWalk().install));
    if (failure !== null) return refuseArea(WHAT, failure);
    const code = await runApart([import.meta.filename, APART, folder, ...areaArgs]);
    return code === NO_ENGINE ? refuseArea(WHAT, "an engine does not start here, see above") : code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a script of Node in namespaces of its own, whose network it connects; its exit code. */
async function runApart(script: readonly string[]): Promise<number> {
  const child = spawn("unshare", [...MACHINE_NAMESPACES, ...FIRST_PROCESS, process.execPath, ...script], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  const exited = exitCodeOf(child, LIMIT_MS);
  // its namespaces are its own once it speaks
  await Promise.race([once(child, "message"), exited]);
  const way = child.exitCode === null ? await connect(child.pid ?? 0) : undefined;
  if (child.connected) child.send("connected");
  const code = await exited;
  way?.kill();
  return code;
}

/** Starts the engine and runs the tests beside it; their exit code. */
async function apart(folder: string, rest: readonly string[]): Promise<number> {
  const connected = once(process, "message");
  process.send?.("apart");
  await connected;
  const engine = await startEngine(folder).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return null;
  });
  if (engine === null) return NO_ENGINE;
  try {
    const machine = JSON.stringify({ root: engine.root, pid: engine.pid });
    const env = { ...process.env, TEST_COMPOSE: machine };
    const [node, ...words] = vitestOf("compose", rest);
    const child = spawn(node, words, { env, stdio: "inherit" });
    const [code] = (await once(child, "exit")) as [number | null];
    return code ?? 1;
  } finally {
    await engine.stop();
  }
}
