/**
 * A change of a cap, a weight or a group affects requests that wait already, without a new arrival
 * (docs/rules/fairshare.md#admissible-heads, docs/rules/admission.md#checked-again), and ends no request. On a stack of
 * its own: its four slots are used by these tests only.
 */

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import type { FairshareLive } from "../../shared/schema/load.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const ENDLESS = "chunks=100000,pace=20";
let stack: Stack;
let upstream: TestUpstream;
let gateway: Gateway;
let clients: AbortController[] = [];
/** Answers that ended although their clients had not left, and failures that the stack logged: what a failed wait shows. */
let ended: string[] = [];

beforeAll(async () => {
  upstream = await startTestUpstream();
  stack = await startTestStack(
    { GATEWAY_GLOBAL_MAX_IN_FLIGHT: "4" },
    { log: (line) => /failed|unreachable|did not answer|again/.test(line) && ended.push(line.slice(0, 300)) },
  );
  gateway = new Gateway(stack);
});
afterEach(async () => {
  for (const client of clients) client.abort();
  clients = [];
  ended = [];
  await waitFor(
    async () => await gateway.stats(),
    ({ in_flight, queued }) => in_flight + queued === 0,
  );
});
afterAll(async () => {
  await stack.stop();
  await upstream.close();
});

/** A client whose answer does not end before the client leaves. */
function come(minted: Minted): AbortController {
  const client = new AbortController();
  clients.push(client);
  const answer = gateway.chat(minted, { stream: true, signal: client.signal });
  void answer
    .then(async (response) => `${response.status}: ${(await response.text()).slice(0, 300)}`)
    .catch((error: unknown) => `${String(error)}: ${String(error instanceof Error ? error.cause : "")}`)
    .then((end) => client.signal.aborted || ended.push(end));
  return client;
}

type Load = readonly [inFlight: number, queued: number];

async function live(): Promise<FairshareLive> {
  return await gateway.must<FairshareLive>("GET", "/fairshare/live");
}

async function tenantIn(minted: Minted): Promise<FairshareLive["tenants"][number] | undefined> {
  return (await live()).tenants.find((tenant) => tenant.tenant_id === minted.tenant.id);
}

/** Waits until the tenant has this many requests in flight and queued. */
async function settles(minted: Minted, [inFlight, queued]: Load): Promise<void> {
  await waitFor(
    async () => ({ tenant: await tenantIn(minted), ended }),
    ({ tenant }) => tenant?.in_flight === inFlight && tenant.queued === queued,
  );
}

/** Starts clients one after another, until this many are in flight and queued. */
async function comes(minted: Minted, count: number, load: Load): Promise<readonly AbortController[]> {
  const came = Array.from({ length: count }, () => come(minted));
  await settles(minted, load);
  return came;
}

/** Checks that every stream of a tenant continues. */
async function goesOn(minted: Minted): Promise<void> {
  const seen = upstream.seen(minted.mark);
  const before = seen.map((request) => request.chunksWritten);
  await waitFor(
    () => seen.map((request) => request.chunksWritten),
    (now) => now.every((count, at) => count > (before[at] ?? 0) + 2),
  );
  expect(seen.map((request) => request.cutOff)).toEqual(seen.map(() => false));
}

describe("a cap", () => {
  it("of a model: raised or cleared it grants waiting requests, lowered it ends no request", async () => {
    const minted = await gateway.mint(upstream.url, ENDLESS, { max_in_flight: 1 });
    const path = `/models/${minted.model.id}/capacity`;
    await comes(minted, 4, [1, 3]);
    expect((await live()).model_queued).toEqual({ [minted.model.model_name]: 3 });
    await gateway.must("PUT", path, { max_in_flight: 2 });
    await settles(minted, [2, 2]);
    await gateway.must("PUT", path, { max_in_flight: null });
    await settles(minted, [4, 0]);
    await gateway.must("PUT", path, { max_in_flight: 1 });
    expect((await live()).model_in_flight).toEqual({ [minted.model.model_name]: 4 });
    await goesOn(minted);
  });

  it("of a tenant: raised or cleared it grants waiting requests, lowered it ends no request", {
    tags: ["check"],
  }, async () => {
    const minted = await gateway.mint(upstream.url, ENDLESS);
    const quota = async (max_in_flight: number | null): Promise<void> => {
      await gateway.must("PUT", `/tenants/${minted.tenant.id}/quota`, { tokens_per_minute: 0, max_in_flight });
    };
    await quota(1);
    await comes(minted, 4, [1, 3]);
    await quota(2);
    await settles(minted, [2, 2]);
    await quota(null);
    await settles(minted, [4, 0]);
    await quota(1);
    expect(await tenantIn(minted)).toMatchObject({ max_in_flight: 1, in_flight: 4 });
    await goesOn(minted);
  });

  it("of the cell: raised it grants waiting requests, lowered it ends no request", { tags: ["check"] }, async () => {
    await gateway.must("PUT", "/capacity", { max_in_flight: 1 });
    const minted = await gateway.mint(upstream.url, ENDLESS);
    await comes(minted, 4, [1, 3]);
    await gateway.must("PUT", "/capacity", { max_in_flight: 3 });
    await settles(minted, [3, 1]);
    await gateway.must("PUT", "/capacity", { max_in_flight: 1 });
    expect(await live()).toMatchObject({ max_in_flight: 1, global_in_flight: 3, global_queued: 1 });
    await goesOn(minted);
    await gateway.must("PUT", "/capacity", { max_in_flight: null });
    await settles(minted, [4, 0]);
  });
});

/** Two tenants that hold two slots each while one more client of each waits; the second tenant's client waits first. */
async function contention(): Promise<{ first: Minted; second: Minted; leaves: AbortController | undefined }> {
  const [first, second] = [await gateway.mint(upstream.url, ENDLESS), await gateway.mint(upstream.url, ENDLESS)];
  await comes(first, 2, [2, 0]);
  const [leaves] = await comes(second, 2, [2, 0]);
  await comes(second, 1, [2, 1]);
  await comes(first, 1, [2, 1]);
  return { first, second, leaves };
}

/**
 * The next slot goes to the first tenant, although the second has waited longer. A request that has waited since before
 * the change is checked again meanwhile (docs/rules/admission.md#checked-again), so that the slot goes to a request that
 * came later.
 */
async function takesOver({ first, second, leaves }: Awaited<ReturnType<typeof contention>>): Promise<void> {
  await comes(first, 1, [2, 2]);
  leaves?.abort();
  await settles(first, [3, 1]);
  await settles(second, [1, 1]);
}

describe("a waiting request", () => {
  it("that came first gets the slot that its own tenant gives back, as long as nothing changes", {
    tags: ["check"],
  }, async () => {
    const { first, second, leaves } = await contention();
    leaves?.abort();
    await settles(second, [2, 0]);
    await settles(first, [2, 1]);
  });

  it("is passed over for a tenant that has become three times as heavy", { tags: ["check"] }, async () => {
    const { first, second, leaves } = await contention();
    await gateway.must("PATCH", `/tenants/${first.tenant.id}/weight`, { weight: 300 });
    expect(await tenantIn(first)).toMatchObject({ weight: 300, weight_share: 0.75, expected_slots: 3 });
    await takesOver({ first, second, leaves });
  });

  it("is passed over for a tenant that has moved to a heavier group", { tags: ["check"] }, async () => {
    const { first, second, leaves } = await contention();
    const name = `heavy-${first.mark}`;
    await gateway.must("POST", "/fairshare/groups", { name, weight: 300 });
    await gateway.must("PATCH", `/tenants/${first.tenant.id}/group`, { fairshare_group: name });
    expect(await tenantIn(first)).toMatchObject({ fairshare_group: name, weight_share: 0.75, expected_slots: 3 });
    expect((await live()).groups.find((group) => group.name === name)).toMatchObject({ queued: 1, slot_cap: 3 });
    await takesOver({ first, second, leaves });
  });

  it("is passed over for a group that has become three times as heavy", { tags: ["check"] }, async () => {
    const name = "by-weight";
    await gateway.must("POST", "/fairshare/groups", { name });
    const [first, second] = [await gateway.mint(upstream.url, ENDLESS), await gateway.mint(upstream.url, ENDLESS)];
    await gateway.must("PATCH", `/tenants/${first.tenant.id}/group`, { fairshare_group: name });
    await comes(first, 2, [2, 0]);
    const [leaves] = await comes(second, 2, [2, 0]);
    await comes(second, 1, [2, 1]);
    await comes(first, 1, [2, 1]);
    await gateway.must("PATCH", `/fairshare/groups/${name}/weight`, { weight: 300 });
    expect((await live()).groups.find((group) => group.name === name)).toMatchObject({ weight: 300, slot_cap: 3 });
    await takesOver({ first, second, leaves });
  });

  it("is passed over for a model whose requests have become three times as heavy", { tags: ["check"] }, async () => {
    const { first, second, leaves } = await contention();
    await gateway.must("PUT", `/models/${first.model.id}/weight`, { admission_weight: 300 });
    await takesOver({ first, second, leaves });
  });
});

describe("the budget of a waiting request", () => {
  it("is the one that is valid at its turn", { tags: ["check"] }, async () => {
    await gateway.must("PUT", "/capacity", { max_in_flight: 1 });
    const holder = await gateway.mint(upstream.url, ENDLESS);
    const [leaves] = await comes(holder, 1, [1, 0]);
    const waiting = await Promise.all(
      [{ budget_tokens: null }, { budget_tokens: 0 }, { budget_tokens: null }].map(async (budget) => {
        const minted = await gateway.mint(upstream.url);
        await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, budget);
        const response = gateway.chat(minted);
        await settles(minted, [0, 1]);
        return { ...minted, response };
      }),
    );
    const [closed, opened, ofKey] = waiting;
    await gateway.must("PATCH", `/tenants/${closed?.tenant.id}/budget`, { budget_tokens: 0 });
    await gateway.must("PATCH", `/tenants/${opened?.tenant.id}/budget`, { budget_tokens: null });
    await gateway.must("PUT", `/keys/${ofKey?.key.id}`, { budget_cost_usd: 0 });
    leaves?.abort();
    const answers = await Promise.all(waiting.map(async ({ response }) => await response));
    const bodies = await Promise.all(
      answers.map(async (answer) => (await answer.json()) as { error?: { code: string } }),
    );
    expect(answers.map((answer, at) => [answer.status, bodies[at]?.error?.code])).toEqual([
      [403, "tenant_budget_exhausted"],
      [200, undefined],
      [403, "key_budget_exhausted"],
    ]);
    await gateway.must("PUT", "/capacity", { max_in_flight: null });
  });
});
