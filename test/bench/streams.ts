/**
 * `npm run bench:streams`: what the gateway adds to the timing of paced streams. The same load, in turns, against the
 * upstream directly, against a bare pass-through Worker on the same runtime, and against the gateway with everything on.
 * Reports, asserts nothing: absolute times mean little on a shared machine, so read the rows against each other.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startGuard } from "../../infra/local/child.ts";
import { startStack } from "../../infra/local/stack.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { startFloor } from "./floor.ts";
import { startPacedUpstream } from "./paced-upstream.ts";
import { noTiming, quantile, readStream, type Target, type Timing } from "./stream-timing.ts";

const { values } = parseArgs({
  options: {
    streams: { type: "string", default: "20" },
    rounds: { type: "string", default: "5" },
    chunks: { type: "string", default: "64" },
    "pace-ms": { type: "string", default: "20" },
  },
});
const [streams, rounds, chunks, paceMs] = [values.streams, values.rounds, values.chunks, values["pace-ms"]].map(Number);

const folder = mkdtempSync(join(tmpdir(), "gateway-bench-"));
const guard = startGuard();
const upstream = await startPacedUpstream(chunks ?? 64, paceMs ?? 20);
const floor = await startFloor(join(folder, "floor"), new URL(upstream.url).origin, guard);
const stack = await startStack({ env: stackEnv(folder) });
try {
  const { model, secret } = await new Gateway(stack).mint(upstream.url);
  const body = { model: model.model_name, stream: true, messages: [{ role: "user", content: "hello" }] };
  const governed = { url: `${stack.proxyUrl}/v1`, headers: { authorization: `Bearer ${secret}` } };
  const targets: readonly Target[] = [
    { name: "upstream directly", url: upstream.url, headers: {}, body },
    { name: "bare pass-through Worker", url: floor.url, headers: {}, body },
    { name: "gateway, usage withheld", ...governed, body },
    { name: "gateway, usage asked for", ...governed, body: { ...body, stream_options: { include_usage: true } } },
  ];
  const timings = new Map<Target, Timing>(targets.map((target) => [target, noTiming()]));
  for (const target of targets) await readStream(target, noTiming()); // everything is warm
  for (let round = 0; round < (rounds ?? 5); round += 1)
    for (const [target, timing] of timings)
      await Promise.all(Array.from({ length: streams ?? 20 }, async () => await readStream(target, timing)));

  console.log(`${rounds} rounds of ${streams} streams at once, ${chunks} events ${paceMs} ms apart; ms`);
  const columns = ["first p50", "under way p50", "p99", "added gap p50", "p99"];
  console.log(["target".padEnd(26), ...columns.map((column) => column.padStart(14))].join(""));
  for (const [{ name }, { firstMs, underWayMs, addedGapMs }] of timings) {
    const shown = [
      quantile(firstMs, 0.5),
      quantile(underWayMs, 0.5),
      quantile(underWayMs, 0.99),
      quantile(addedGapMs, 0.5),
      quantile(addedGapMs, 0.99),
    ];
    console.log([name.padEnd(26), ...shown.map((ms) => ms.toFixed(2).padStart(14))].join(""));
  }
} finally {
  await stack.stop();
  await floor.close();
  await upstream.close();
  guard.close();
  rmSync(folder, { recursive: true, force: true });
}
