/**
 * `npm run test:area -- model [--seed 42 --minutes 1]`: random calls against a whole stack, whose rows, budgets, alerts,
 * reads and metrics are then compared with what calculator.ts makes of the same calls. README.md says how to read a difference.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startStack } from "../../infra/local/stack.ts";
import { makeTemplate } from "../harness/database-template.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { STORE_TOKEN, startKillableStore } from "../harness/killable-store.ts";
import { startClickhouse } from "../harness/shared-stores.ts";
import { reportOf } from "./differences.ts";
import { WorkerLog } from "./missing-rows.ts";
import { KINDS, type RoundKind, runModel } from "./run.ts";
import { startModelUpstream } from "./upstream.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: process.env["MODEL_SEED"] ?? String(Math.floor(Math.random() * 1e6)) },
    minutes: { type: "string", default: process.env["MODEL_MINUTES"] ?? "1" },
    faults: { type: "boolean", default: false },
    workers: { type: "string" },
    only: { type: "string", default: KINDS.join() },
  },
});
const [seed, minutes] = [Number(values.seed), Number(values.minutes)];
const workers = values.workers ?? String(1 + (seed % 2));
const only = values.only.split(",").filter((kind): kind is RoundKind => (KINDS as readonly string[]).includes(kind));
if (!Number.isSafeInteger(seed) || !(minutes > 0) || only.length === 0) {
  console.error(
    "usage: node infra/launch.mjs test/reference-model/main.ts [--seed 42] [--minutes 1] [--faults] [--workers 2] [--only mixed,pause]",
  );
  process.exit(2);
}
const repeat = [
  `node infra/launch.mjs test/reference-model/main.ts --seed ${seed} --minutes ${minutes} --workers ${workers}`,
  ...(values.faults ? ["--faults"] : []),
  ...(only.length < KINDS.length ? [`--only ${only.join()}`] : []),
].join(" ");
console.log(repeat);

const PASSWORD = "password-of-the-model";
const folder = mkdtempSync(join(tmpdir(), "gateway-model-"));
await makeTemplate();
const [store, clickhouse, upstream] = await Promise.all([
  startKillableStore(),
  startClickhouse(folder, PASSWORD),
  startModelUpstream(),
]);
const env = stackEnv(folder, {
  GATEWAY_WORKERS: workers,
  GATEWAY_REDIS_URL: store.url,
  GATEWAY_REDIS_TOKEN: STORE_TOKEN,
  GATEWAY_CLICKHOUSE_URL: clickhouse.url,
  GATEWAY_CLICKHOUSE_PASSWORD: PASSWORD,
});
const log = new WorkerLog();
/** A part that dies without being killed may have lost rows; what the launcher says of it stands between the rounds. */
const stack = await startStack({
  env,
  log: (_, { part, text }) => {
    if (part === "workerd") log.note(text);
    if (part === "stack") console.log(`${new Date().toISOString()} ${text}`);
  },
});
try {
  const differences = await runModel({
    parts: { stack, store, gateway: new Gateway(stack) },
    upstream,
    clickhouse: { url: clickhouse.url, password: PASSWORD },
    log,
    seed,
    minutes,
    faults: values.faults,
    only,
    say: (line) => console.log(line),
  });
  console.log(differences.length > 0 ? reportOf(differences, repeat) : "0 differences");
  process.exitCode = differences.length === 0 ? 0 : 1;
} finally {
  await stack.stop();
  await upstream.close();
  await store.stop();
  await clickhouse.stop();
  rmSync(folder, { recursive: true, force: true });
}
