/**
 * The moments of a deployment in which Workers of the last release call objects of today's upload, and the reverse on the way back
 * (docs/platform.md#all-at-once). They do not understand each other: new requests are refused until both are of one release. Requests
 * under way are answered in full and have their row. The storage of the objects goes from one release to the other and back.
 *
 * @module-tag long
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { understandsMessages } from "../../infra/deploy/messages-since.ts";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import { startGatedUpstream } from "../harness/gated-upstream.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import { readReleasedWorker } from "../released/released-worker.ts";

const ROOT = join(import.meta.dirname, "../..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");

/** Today's Worker as `npm run deploy` uploads it: what wrangler makes of the sources, made small. Throws when wrangler cannot. */
function buildUploadedWorker(): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), "gateway-upload-"));
  try {
    const args = ["deploy", "--dry-run", "--env", "production", "--outdir", folder];
    const env = { ...process.env, CI: "true", WRANGLER_SEND_METRICS: "false" };
    execFileSync(process.execPath, [WRANGLER, ...args], { cwd: ROOT, env, stdio: ["ignore", "ignore", "inherit"] });
    return readFileSync(join(folder, "worker.js"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const WORKERS = 2;
/** What the test upstreams report of each request. */
const TOKENS = 33;
/** A request that the objects do not understand waits no longer than this. */
const REFUSED_WITHIN_MS = 10_000;

type Release = "released" | "today";

let folder: string;
let stack: Stack;
let upstream: TestUpstream;
let gateway: Gateway;
let bundles: Readonly<Record<Release, string>>;
const lines: string[] = [];
/** Lasts through all steps: its budget is counted by objects of both releases. */
let lasting: Minted;
/** How many requests of each tenant with a lasting budget were served, and how many were refused. */
const counted = new Map<string, { served: number; refused: number }>();

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
  lasting = await withBudget(await gateway.mint(upstream.url), 1_000_000);
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

async function withBudget(minted: Minted, tokens: number): Promise<Minted> {
  const budget = { budget_tokens: tokens, budget_cost_usd: null, budget_period: "lifetime" };
  await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, budget);
  return minted;
}

const countOf = ({ tenant }: Minted): { served: number; refused: number } => {
  const count = counted.get(tenant.id) ?? { served: 0, refused: 0 };
  counted.set(tenant.id, count);
  return count;
};

/** The answer is complete, and its row is there, which has to be the only one. */
async function isServed(minted: Minted, response: Response): Promise<void> {
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200, text: expect.stringMatching(/\}\s*$|DONE/) });
  const row = await gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
  expect(row).toMatchObject({ status_code: 200, total_tokens: TOKENS });
  countOf(minted).served += 1;
}

/** Refused with its row, while Worker and objects do not understand each other. */
async function isRefused(minted: Minted, response: Response): Promise<void> {
  const { error } = (await response.json()) as { error: { code: string } };
  expect({ status: response.status, code: error.code }).toEqual({ status: 503, code: "scheduler_unavailable" });
  const row = await gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
  expect(row).toMatchObject({ status_code: 503, total_tokens: 0 });
  countOf(minted).refused += 1;
}

/** Every Worker refuses new requests, plain ones and streams. */
async function refusesAll(minted: Minted): Promise<void> {
  for (const worker of byWorker())
    for (const stream of [false, true])
      await isRefused(minted, await worker.chat(minted, { stream, signal: AbortSignal.timeout(REFUSED_WITHIN_MS) }));
}

/** Changes the release of the objects, not of the Workers, while requests hold slots and one waits for a slot. */
async function changeObjectsUnderLoad(release: Release): Promise<void> {
  const gate = await startGatedUpstream();
  const minted = await withBudget(await gateway.mint(gate.url, "gated", { max_in_flight: WORKERS }), 1_000_000);
  const held = byWorker().map(async (worker) => await worker.chat(minted));
  await loadIs(minted, WORKERS, 0);
  const waiting = gateway.chat(minted, { signal: AbortSignal.timeout(60_000) });
  await loadIs(minted, WORKERS, 1);
  await change("workerd", release);
  await isRefused(minted, await waiting);
  await refusesAll(minted);
  expect(gate.seen(`hello ${minted.mark}`)).toHaveLength(WORKERS);
  gate.release();
  for (const answer of held) await isServed(minted, await answer);
  await refusesAll(lasting);
  await loadIs(minted, 0, 0);
  await gate.close();
}

/** What Workers and objects of one release have to do. */
async function serves(): Promise<void> {
  for (const worker of byWorker())
    for (const stream of [false, true]) await isServed(lasting, await worker.chat(lasting, { stream }));
  await refuses();
  await revokes();
}

/** Longer than a lease lives, and than its tenant's budget waits for a lost Cell before it asks the ledger. */
const LEASES_ARE_SETTLED_MS = 150_000;

/** The lasting budgets are exactly what their rows say, in either version, and no row is missing or doubled. */
async function budgetsAreExact(): Promise<void> {
  for (const [tenantId, { served, refused }] of counted) {
    const rows = served + refused;
    expect(await gateway.countRows(tenantId)).toEqual({ rows, requests: rows });
    await waitFor(
      async () => (await gateway.must<BudgetUsage>("GET", `/tenants/${tenantId}/budget/usage`)).used_tokens,
      (used) => used === served * TOKENS,
      LEASES_ARE_SETTLED_MS,
    );
  }
}

/** A budget that is used up refuses. */
async function refuses(): Promise<void> {
  const minted = await withBudget(await gateway.mint(upstream.url), 2 * TOKENS);
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
  it("refuse new requests of each other, and lose nothing of those under way, forward and back", async () => {
    // Once it does, a gradual rollout has to serve, and this test has to hold that.
    expect(understandsMessages(`v${readReleasedWorker().version}`)).toBe(false);
    await change("workerd", "released");
    await changeWorkers("released");
    await serves();
    await changeObjectsUnderLoad("today");
    await changeWorkers("today");
    await serves();
    await changeObjectsUnderLoad("released");
    // The same Workers serve as soon as the objects understand them again.
    await change("workerd", "today");
    await serves();
    await changeWorkers("released");
    await refusesAll(lasting);
    await change("workerd", "released");
    await serves();
    await budgetsAreExact();
    // The log gives the TypeError of a message that is not understood as a reason.
    const withoutReasons = lines.map((line) => line.replaceAll(/"reason":"(?:[^"\\]|\\.)*"/g, ""));
    expect(withoutReasons.filter((line) => /^workerd .*(?:uncaught|(?:Type|Reference)Error:)/i.test(line))).toEqual([]);
  }, 360_000);
});
