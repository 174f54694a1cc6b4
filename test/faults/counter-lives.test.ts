/**
 * What Prometheus adds up of the counters is what happened, over ends of the gateway and of its parts
 * (docs/rules/metrics.md#lives).
 *
 * @module-tag long
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { ownPort } from "../harness/own-port.ts";
import { type Prometheus, startPrometheus } from "../harness/prometheus.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

/** Every request that was not refused. */
const SERVED = "gateway_total_ms_count";
const TOKENS = "gateway_output_tokens_total";

let folder: string;
let metricsPort: number;
let upstream: TestUpstream;
let prometheus: Prometheus;
let stack: Stack;
let minted: Minted;

const start = async (): Promise<Stack> =>
  await startStack({
    env: stackEnv(join(folder, "stack"), { GATEWAY_METRICS_LISTEN: `127.0.0.1:${metricsPort}` }),
  });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-counter-lives-"));
  metricsPort = await ownPort();
  upstream = await startTestUpstream();
  stack = await start();
  minted = await new Gateway(stack).mint(upstream.url);
  prometheus = await startPrometheus(join(folder, "prometheus"), `127.0.0.1:${metricsPort}`, "docs");
});
afterAll(async () => {
  await prometheus.stop();
  await stack.stop();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The last value that Prometheus has of a counter; null: it has none now. */
async function lastOf(series: string): Promise<number | null> {
  const [sample] = await prometheus.query(series);
  return sample === undefined ? null : Number(sample.value[1]);
}

async function serve(): Promise<void> {
  const response = await new Gateway(stack).chat(minted);
  expect(response.status).toBe(200);
  await response.text();
}

async function servedBy(requests: number): Promise<void> {
  for (let sent = 0; sent < requests; sent += 1) await serve();
}

/** Requests one after another, for longer than a Cell keeps to itself what it ever writes to its disk. */
async function servedForLong(): Promise<number> {
  const untilMs = Date.now() + 12_000;
  let sent = 0;
  for (; Date.now() < untilMs; sent += 1) await serve();
  return sent;
}

/** Waits until Prometheus has seen that the counter has this value. */
async function seen(series: string, value: number): Promise<void> {
  await waitFor(
    async () => await lastOf(series),
    (last) => last === value,
  );
}

/** What `increase()` says of a counter since the first scrape. It extrapolates to the ends of the time that it is asked of. */
async function increaseOf(series: string): Promise<number> {
  const [sample] = await prometheus.query(`increase(${series}[10m])`);
  return Number(sample?.value[1]);
}

it("adds up to what was served, over a restart and deaths of objects and control service", async () => {
  await seen(SERVED, 0);
  const first = await servedForLong();
  await seen(SERVED, first);
  const perRequest = ((await lastOf(TOKENS)) ?? 0) / first;

  await stack.stop();
  stack = await start();
  await seen(SERVED, 0);
  await servedBy(30);
  await seen(SERVED, 30);

  for (const name of ["workerd", "control"]) {
    const part = stack.parts.get(name);
    const pid = part?.pid as number;
    process.kill(pid, "SIGKILL");
    await startedAgain(part, pid);
  }
  await seen(SERVED, 0);
  await servedBy(20);
  await seen(SERVED, 20);

  const served = first + 30 + 20;
  expect((await increaseOf(SERVED)) / served).toBeCloseTo(1, 1);
  expect((await increaseOf(TOKENS)) / perRequest / served).toBeCloseTo(1, 1);
  expect(await prometheus.query(`resets(${SERVED}[10m])`)).toMatchObject([{ value: [expect.anything(), "2"] }]);
});
