/**
 * A rollout, with the Worker of the last release and today's upload at once (docs/platform.md#gradual-rollout): Worker processes of one
 * before objects of the other, in both directions, and the storage of the objects handed from one to the other and back.
 * Requests that are under way when the objects change hands keep their slots.
 *
 * @module-tag long
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import { startGatedUpstream } from "../harness/gated-upstream.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import { readReleasedWorker } from "../released/released-worker.ts";
import { buildUploadedWorker } from "../released/uploaded-worker.ts";

const WORKERS = 2;
/** What the test upstream reports of each request. */
const TOKENS = 33;

type Release = "released" | "today";

let folder: string;
let stack: Stack;
let upstream: TestUpstream;
let gateway: Gateway;
let bundles: Readonly<Record<Release, string>>;
const lines: string[] = [];
/** Lasts through all steps: its budget is counted by objects of both releases. */
let lasting: Minted;
/** How many of its requests were served. */
let served = 0;

/** A bundle that says which one it is when a process has started it. */
const saying = (release: Release, code: Uint8Array): string =>
  `${Buffer.from(code).toString("utf8")}\nconsole.log("bundle: ${release}");\n`;

const started = (release: Release): number => lines.filter((line) => line.includes(`bundle: ${release}`)).length;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-released-"));
  bundles = {
    released: saying("released", readReleasedWorker().code),
    today: saying("today", buildUploadedWorker()),
  };
  upstream = await startTestUpstream();
  stack = await startStack({
    env: stackEnv(folder, { GATEWAY_WORKERS: String(WORKERS) }),
    log: (line) => void lines.push(line),
  });
  gateway = new Gateway(stack);
  lasting = await gateway.mint(upstream.url);
  await gateway.must("PATCH", `/tenants/${lasting.tenant.id}/budget`, {
    budget_tokens: 1_000_000,
    budget_cost_usd: null,
    budget_period: "lifetime",
  });
});
afterAll(async () => {
  await stack.stop();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a part of the runtime again with another bundle; resolves when it serves. */
async function change(name: string, release: Release): Promise<void> {
  writeFileSync(join(folder, "worker", "worker.mjs"), bundles[release]);
  const part = stack.parts.get(name);
  const [before, runs] = [part?.pid ?? null, started(release)];
  process.kill(before ?? 0, "SIGKILL");
  await startedAgain(part, before);
  // The first request to a process starts its code.
  await waitFor(
    async () => {
      await byWorker()[0]?.chat({ ...lasting, secret: `sk_${"0".repeat(48)}` });
      return started(release);
    },
    (now) => now > runs,
  );
}

const changeWorkers = async (release: Release): Promise<void> => {
  for (let at = 1; at <= WORKERS; at += 1) await change(`worker-${at}`, release);
};

/** The gateway, reached at each Worker process directly. */
const byWorker = (): readonly Gateway[] => stack.runtimeUrls().map((proxyUrl) => new Gateway({ ...stack, proxyUrl }));

const loadIs = async ({ model }: Minted, inFlight: number, queued: number): Promise<void> => {
  await waitFor(
    async () => await gateway.loadOf(model.model_name).catch(() => null),
    (load) => load?.inFlight === inFlight && load.queued === queued,
  );
};

/** The row of an answered request, which has to be the only one. */
async function rowOf({ tenant }: Minted, response: Response): Promise<unknown> {
  await response.text();
  return await gateway.row(tenant.id, response.headers.get("x-gateway-request-id"));
}

/** Changes the release of the objects while requests hold slots and one waits for a slot. */
async function changeObjectsUnderLoad(release: Release): Promise<void> {
  const gate = await startGatedUpstream();
  const minted = await gateway.mint(gate.url, "gated", { max_in_flight: WORKERS });
  const held = byWorker().map(async (worker) => await worker.chat(minted));
  await loadIs(minted, WORKERS, 0);
  await change("workerd", release);
  await loadIs(minted, WORKERS, 0);
  const late = gateway.chat(minted);
  await loadIs(minted, WORKERS, 1);
  expect(gate.seen(`hello ${minted.mark}`)).toHaveLength(WORKERS);
  gate.release();
  for (const answer of [...held, late]) {
    const response = await answer;
    expect(response.status).toBe(200);
    expect(await rowOf(minted, response)).toMatchObject({ status_code: 200, total_tokens: TOKENS });
  }
  await loadIs(minted, 0, 0);
  expect(await gateway.countRows(minted.tenant.id)).toEqual({ rows: WORKERS + 1, requests: WORKERS + 1 });
  await gate.close();
}

/** What every pair of releases has to do. */
async function serves(): Promise<void> {
  for (const worker of byWorker())
    for (const stream of [false, true]) {
      const response = await worker.chat(lasting, { stream });
      expect(response.status).toBe(200);
      expect(await rowOf(lasting, response)).toMatchObject({ status_code: 200, total_tokens: TOKENS });
      served += 1;
    }
  await refuses();
  await revokes();
}

/** Longer than a lease lives, and than its tenant's budget waits for a lost Cell before it asks the ledger. */
const LEASES_ARE_SETTLED_MS = 150_000;

/** The budget of the lasting tenant is exactly what its rows say, whoever counted them. */
async function budgetIsExact(): Promise<void> {
  expect(await gateway.countRows(lasting.tenant.id)).toEqual({ rows: served, requests: served });
  await waitFor(
    async () => (await gateway.must<BudgetUsage>("GET", `/tenants/${lasting.tenant.id}/budget/usage`)).used_tokens,
    (used) => used === served * TOKENS,
    LEASES_ARE_SETTLED_MS,
  );
}

/** A budget that is used up refuses. */
async function refuses(): Promise<void> {
  const minted = await gateway.mint(upstream.url);
  await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, {
    budget_tokens: 2 * TOKENS,
    budget_cost_usd: null,
    budget_period: "lifetime",
  });
  const statuses: number[] = [];
  for (let sent = 0; sent < 6; sent += 1) {
    const response = await (byWorker()[sent % WORKERS] as Gateway).chat(minted, { body: { max_tokens: 20 } });
    await response.text();
    statuses.push(response.status);
  }
  expect(statuses.at(0)).toBe(200);
  expect(statuses.at(-1)).toBe(403);
  const used = (await gateway.must<BudgetUsage>("GET", `/tenants/${minted.tenant.id}/budget/usage`)).used_tokens;
  expect(used).toBeLessThanOrEqual(2 * TOKENS);
}

/** A change reaches the next request of every process. */
async function revokes(): Promise<void> {
  const minted = await gateway.mint(upstream.url);
  for (const disabled of [false, true, false]) {
    await gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled });
    for (const worker of byWorker()) {
      const response = await worker.chat(minted);
      await response.text();
      expect(response.status).toBe(disabled ? 403 : 200);
    }
  }
}

describe("the last release and today's Worker", () => {
  it("serve together: first the objects go forward, then the Workers, and back the same way", async () => {
    await change("workerd", "released");
    await changeWorkers("released");
    await serves();
    await changeObjectsUnderLoad("today");
    await serves();
    await changeWorkers("today");
    await serves();
    await changeObjectsUnderLoad("released");
    await serves();
    await changeWorkers("released");
    await serves();
    await budgetIsExact();
    expect(lines.filter((line) => /^workerd .*(?:uncaught|TypeError|ReferenceError)/i.test(line))).toEqual([]);
  }, 360_000);
});
