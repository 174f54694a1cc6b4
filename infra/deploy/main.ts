/** `npm run deploy -- --env NAME`: the data plane to the platform (docs/platform.md#deploy). Exit code 1 when it was refused. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { terminalText } from "../../shared/text/printable.ts";
import { DATABASES } from "./databases.ts";
import { type Deployment, deploy } from "./deploy.ts";
import { listenForInterrupts } from "./interruption.ts";
import { DEPLOY_USAGE, DeployOptionsError, deployOptions, readDeployArguments } from "./options.ts";
import { wranglerAt } from "./run-command.ts";
import { readWorkerConfig, WorkerConfigError } from "./worker-config.ts";
import { WORKER_RULES } from "./worker-rules.ts";
import { Wrangler } from "./wrangler.ts";

const ROOT = join(import.meta.dirname, "../..");
const CONFIG = join(ROOT, "wrangler.toml");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");

const monotonic = (): number => performance.now();
const args = process.argv.slice(2);
if (args.includes("--help")) {
  process.stdout.write(`${DEPLOY_USAGE}\n`);
  process.exit(0);
}
try {
  const deployment = await read();
  const { environment } = deployment.options;
  // A reader that is gone, such as a closed terminal, does not end a deployment in the middle.
  process.stdout.on("error", () => {});
  const say = (line: string): void => void process.stdout.write(`${terminalText(line)}\n`);
  const { signal: interrupted, exitCode } = listenForInterrupts(process, monotonic, (code) => {
    say(`stopped at once: see what serves with npx wrangler deployments status --env ${environment}`);
    process.exit(code);
  });
  interrupted.addEventListener("abort", () => say("interrupted: waiting for the change in progress"));
  const run = wranglerAt({ command: [process.execPath, WRANGLER], cwd: ROOT, env: process.env, interrupted });
  const done = await deploy(deployment, {
    wrangler: new Wrangler(run, CONFIG, environment),
    databases: DATABASES,
    request: fetch,
    now: monotonic,
    pause: async (ms) => {
      await pause(ms, undefined, { signal: interrupted }).catch(() => interrupted.throwIfAborted());
    },
    interrupted,
    say,
  });
  // Checks that an interrupt left under way would keep the process for their time limits.
  process.exit(done ? 0 : (exitCode() ?? 1));
} catch (error) {
  if (!(error instanceof DeployOptionsError || error instanceof WorkerConfigError)) throw error;
  const usage = error instanceof DeployOptionsError ? `\n${DEPLOY_USAGE}` : "";
  process.stderr.write(`${error.message}${usage}\n`);
  process.exitCode = 2;
}

async function read(): Promise<Deployment> {
  const { values, envFile } = readDeployArguments(args);
  if (envFile !== null) loadFile(envFile);
  const options = deployOptions(values, process.env);
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  return {
    options,
    release: version,
    top: await readWorkerConfig(CONFIG, null),
    config: await readWorkerConfig(CONFIG, options.environment),
    own: process.env,
    rules: WORKER_RULES,
    runtimeDate: runtimeDate(),
    today: new Date().toISOString().slice(0, 10),
  };
}

function loadFile(path: string): void {
  try {
    process.loadEnvFile(path);
  } catch {
    throw new DeployOptionsError(`--env-file ${path} cannot be read`);
  }
}

/** The date in the version of the runtime: `1.20261117.1`. */
function runtimeDate(): string {
  const manifest = createRequire(import.meta.url)("workerd/package.json") as { readonly version: string };
  const [, year, month, day] = /^\d+\.(\d{4})(\d{2})(\d{2})\./.exec(manifest.version) ?? [];
  return `${year}-${month}-${day}`;
}
