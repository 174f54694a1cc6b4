/**
 * Several Worker processes before one object process (docs/rules/local-stack.md#several-processes): each of them may be
 * killed or hang, and is then started again alone. What it held is settled, what the other processes hold continues, and
 * counters, logs and alerts are complete.
 *
 * @module-tag long
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import type { UsageLogTotals } from "../../shared/schema/usage.ts";
import { ADMISSION_CLASSES } from "../../shared/usage/usage-values.ts";
import { readExposition, scrapeWith } from "../harness/exposition.ts";
import { type GatedUpstream, startGatedUpstream } from "../harness/gated-upstream.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { account, startLoad } from "../harness/ledger-load.ts";
import { alertsIn } from "../harness/object-faults.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const WORKERS = 3;
const CLIENTS = 8;
const ENOUGH = 100;

let stack: Stack;
let upstream: TestUpstream;
let gateway: Gateway;
const lines: string[] = [];

beforeAll(async () => {
  upstream = await startTestUpstream();
  stack = await startTestStack(
    { GATEWAY_WORKERS: String(WORKERS) },
    {
      log: (line) => void lines.push(line),
      liveness: { graceMs: 0, everyMs: 500, answerWithinMs: 2_000, checks: 5 },
    },
  );
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await stack.stop();
  await upstream.close();
});

/** The gateway, reached at each Worker process directly, in their order. */
const byWorker = (): readonly Gateway[] => stack.runtimeUrls().map((proxyUrl) => new Gateway({ ...stack, proxyUrl }));

const pids = (): Readonly<Record<string, number | null>> =>
  Object.fromEntries([...stack.parts].map(([name, { pid }]) => [name, pid]));

/** Sends a signal to a part; resolves when this part was started again, and no other. */
async function again(name: string, signal: "SIGKILL" | "SIGSTOP"): Promise<void> {
  const before = pids();
  process.kill(before[name] ?? 0, signal);
  await startedAgain(stack.parts.get(name), before[name] ?? null);
  expect(pids()).toEqual({ ...before, [name]: stack.parts.get(name)?.pid });
}

/** Resolves when no request holds a slot. */
async function allQuiet(): Promise<void> {
  await waitFor(
    async () => await gateway.stats(),
    ({ in_flight, queued }) => in_flight === 0 && queued === 0,
  );
}

/** A model with `slots` slots whose upstream answers when the test opens its gate. */
async function gated(slots: number): Promise<{ readonly minted: Minted; readonly gate: GatedUpstream }> {
  const gate = await startGatedUpstream();
  return { minted: await gateway.mint(gate.url, "gated", { max_in_flight: slots }), gate };
}

/** Another tenant that uses the model of a minted one. */
async function alsoFor({ model }: Minted): Promise<Minted> {
  return { ...(await gateway.mint(upstream.url)), model };
}

const loadIs = async ({ model }: Minted, inFlight: number, queued: number): Promise<void> => {
  await waitFor(
    async () => await gateway.loadOf(model.model_name).catch(() => null),
    (load) => load?.inFlight === inFlight && load.queued === queued,
  );
};

describe("a Worker process that is killed under load", () => {
  it("settles its requests at the estimate and frees its slots; no row is lost or doubled", async () => {
    const loaded = await gateway.mint(upstream.url, "delay=20");
    const load = startLoad(gateway, loaded, CLIENTS);
    await load.more(ENOUGH);
    const { minted: holder, gate } = await gated(1);
    const [first, ...others] = byWorker();
    const waiters = await Promise.all(byWorker().map(async () => await alsoFor(holder)));
    const held = first?.chat(holder, { body: { max_tokens: 20 } }).catch(() => null);
    await loadIs(holder, 1, 0);
    const lostWaiter = first?.chat(waiters[0] as Minted).catch(() => null);
    await loadIs(holder, 1, 1);
    const answers = others.map(async (worker, at) => await worker.chat(waiters[at + 1] as Minted));
    await loadIs(holder, 1, WORKERS);
    const before = pids();
    const killedAt = performance.now();
    const restarted = again("worker-1", "SIGKILL");
    const [servedAt = Number.NaN] = await waitFor(
      () => others.flatMap((_, at) => gate.seen(`hello ${waiters[at + 1]?.mark}`)),
      (served) => served.length > 0,
    );
    const servedAfterMs = Math.round(servedAt - killedAt);
    gate.release();
    expect(await Promise.all([held, lostWaiter])).toEqual([null, null]);
    for (const answer of answers) expect((await answer).status).toBe(200);
    await restarted;
    await load.more(ENOUGH);
    await load.stop();

    const rowOf = async ({ tenant }: Minted) =>
      (
        await waitFor(
          async () => await gateway.rows(tenant.id),
          (rows) => rows.length > 0,
        )
      )[0];
    const settled = await rowOf(holder);
    expect(settled?.total_tokens).toBe(settled?.estimated_tokens);
    expect(settled).toMatchObject({ status_code: 499, output_tokens: 20 });
    expect(await rowOf(waiters[0] as Minted)).toMatchObject({ status_code: 499, total_tokens: 0 });
    // Every request that was answered has its row, whichever process served it and whenever that process was killed.
    await account({
      fault: `kill -9: one of ${WORKERS} Worker processes`,
      gateway,
      minted: loaded,
      load,
      servedAfterMs,
    });
    await allQuiet();
    for (const one of [holder, ...waiters])
      expect(await gateway.countRows(one.tenant.id)).toEqual({ rows: 1, requests: 1 });
    await gate.close();
    // The Cell has lived on, so that its counters are those of the rows.
    expect(pids()).toEqual({ ...before, "worker-1": stack.parts.get("worker-1")?.pid });
    const totals = await gateway.must<UsageLogTotals>("GET", "/usage/logs/totals?since_ms=0");
    const metrics = await readExposition(await scrapeWith(["local"], stack.metricsUrl));
    const requests = (...statuses: readonly string[]): number =>
      ADMISSION_CLASSES.flatMap((admission) =>
        statuses.map((status) => metrics.value("gateway_requests_total", { cell: "local", admission, status }) ?? 0),
      ).reduce((sum, count) => sum + count, 0);
    expect({
      requests: requests("2xx", "3xx", "4xx", "5xx"),
      errors: requests("4xx", "5xx"),
      input_tokens: metrics.value("gateway_input_tokens_total", { cell: "local" }),
      output_tokens: metrics.value("gateway_output_tokens_total", { cell: "local" }),
    }).toEqual({
      requests: totals.requests,
      errors: totals.errors,
      input_tokens: totals.input_tokens,
      output_tokens: totals.output_tokens,
    });
  });
});

describe("the object process that is killed under load", () => {
  it("counts open requests of all Worker processes again; each is answered and has one row", async () => {
    const loaded = await gateway.mint(upstream.url, "delay=20");
    const load = startLoad(gateway, loaded, CLIENTS);
    await load.more(ENOUGH);
    const { minted, gate } = await gated(WORKERS);
    const holders = await Promise.all(byWorker().map(async () => await alsoFor(minted)));
    const answers = byWorker().map(async (worker, at) => await worker.chat(holders[at] as Minted));
    await loadIs(minted, WORKERS, 0);
    await again("workerd", "SIGKILL");
    await loadIs(minted, WORKERS, 0);
    // The slots in use are counted again: no slot is left for one more request.
    const late = gateway.chat(minted);
    await loadIs(minted, WORKERS, 1);
    expect(gate.seen(`hello ${minted.mark}`)).toEqual([]);
    gate.release();
    for (const [at, answer] of answers.entries()) {
      const response = await answer;
      expect(response.status).toBe(200);
      const { tenant } = holders[at] as Minted;
      const row = await gateway.row(tenant.id, response.headers.get("x-gateway-request-id"));
      expect(row).toMatchObject({ status_code: 200, total_tokens: 33 });
    }
    expect((await late).status).toBe(200);
    await load.more(ENOUGH);
    await load.stop();
    await account({ fault: `kill -9: objects of ${WORKERS} Worker processes`, gateway, minted: loaded, load });
    await allQuiet();
    await gate.close();
  });
});

describe("a Worker process that hangs", () => {
  it("is started again alone, gives back what it held, and delays no other request", async () => {
    const minted = await gateway.mint(upstream.url);
    const { minted: holder, gate } = await gated(1);
    const [, second, third] = byWorker();
    const held = second?.chat(holder).catch(() => null);
    await loadIs(holder, 1, 0);
    const restarted = again("worker-2", "SIGSTOP");
    await gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    expect((await third?.chat(minted))?.status).toBe(403);
    await gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: false });
    expect((await third?.chat(minted))?.status).toBe(200);
    await restarted;
    expect(lines.filter((line) => line.startsWith("stack | worker-2 did not answer for"))).toHaveLength(1);
    expect(await held).toBeNull();
    await loadIs(holder, 0, 0);
    for (const worker of byWorker()) expect((await worker.chat(minted)).status).toBe(200);
    await gate.close();
  });
});

describe("several Worker processes", () => {
  it("reach the objects by a socket that only its owner can use", () => {
    expect(statSync(join(stack.dataDir, "worker", "objects.sock")).mode & 0o077).toBe(0);
    expect(statSync(join(stack.dataDir, "worker")).mode & 0o077).toBe(0);
  });

  it("share one cap, and one queue in its order", async () => {
    const { minted, gate } = await gated(1);
    const tenants = await Promise.all(Array.from({ length: 2 * WORKERS }, async () => await alsoFor(minted)));
    const answers: Promise<Response>[] = [];
    for (const [at, one] of tenants.entries()) {
      answers.push((byWorker()[at % WORKERS] as Gateway).chat(one));
      await loadIs(minted, 1, at);
    }
    expect(tenants.map(({ mark }) => gate.seen(`hello ${mark}`).length)).toEqual([1, ...tenants.slice(1).map(() => 0)]);
    gate.release();
    for (const answer of answers) expect((await answer).status).toBe(200);
    await gate.close();
  });

  it("each apply a confirmed change to their very next request", async () => {
    const minted = await gateway.mint(upstream.url);
    const statuses = async (): Promise<readonly number[]> =>
      await Promise.all(byWorker().map(async (worker) => (await worker.chat(minted)).status));
    for (const disabled of [false, true, false, true]) {
      await gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled });
      expect(await statuses()).toEqual(byWorker().map(() => (disabled ? 403 : 200)));
    }
  });

  it("are one gateway in metrics, log, spans and alerts", async () => {
    const scrape = async () => await readExposition(await scrapeWith(["local"], stack.metricsUrl));
    const served = async () =>
      (await scrape()).value("gateway_requests_total", { cell: "local", admission: "fast", status: "2xx" }) ?? 0;
    const refused = async () =>
      (await scrape()).value("gateway_auth_failures_total", { cell: "local", plane: "data" }) ?? 0;
    const minted = await gateway.mint(upstream.url);
    await gateway.must("PUT", `/tenants/${minted.tenant.id}/tracing`, { tracing_enabled: true });
    await allQuiet();
    const before = { served: await served(), refused: await refused() };
    const ids = await Promise.all(
      byWorker().map(async (worker) => {
        const response = await worker.chat(minted);
        await response.text();
        return response.headers.get("x-gateway-request-id") ?? "";
      }),
    );
    expect(await waitFor(served, (now) => now >= before.served + WORKERS)).toBe(before.served + WORKERS);
    for (const id of ids) {
      await waitFor(
        () => lines.filter((line) => line.startsWith("workerd | ") && line.includes(id)).length,
        (found) => found === 1,
      );
      await waitFor(
        async () => await gateway.must<readonly unknown[]>("GET", `/usage/logs/${id}/spans`),
        (spans) => spans.length > 0,
      );
    }
    // 20 wrong tokens in a minute are an alert, whichever process receives them.
    const guesses = Array.from({ length: 21 }, async (_, at) => {
      const url = stack.runtimeUrls()[at % WORKERS] ?? "";
      const response = await fetch(`${url}/internal/stats`, { headers: { authorization: "Bearer a guess" } });
      return response.status;
    });
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([404]));
    await waitFor(
      () => alertsIn(lines).filter((alert) => alert["key"] === "admin_auth_failures").length,
      (count) => count === 1,
    );
    // Each process counts its own, after it has answered.
    expect(await waitFor(refused, (now) => now >= before.refused + 21)).toBe(before.refused + 21);
  });
});
