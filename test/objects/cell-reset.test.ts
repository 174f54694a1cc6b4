/**
 * The Cell is reset under load (docs/rules/admission.md#reset): streams continue, slots are counted again,
 * the cap is kept, and every row is written once.
 *
 * @module-tag check
 */

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { Bindings } from "../../edge/bindings.ts";
import { limitsOf } from "../../edge/domain/budget/limits.ts";
import type { TenantBudgetApi } from "../../edge/domain/budget/messages/rpc.ts";
import type { BudgetUsage } from "../../edge/domain/budget/usage-view.ts";
import { run } from "../../edge/pipeline/run.ts";
import { keyOf, tenantOf } from "../harness/edge/pipeline/records.ts";
import { TestPipeline } from "../harness/edge/pipeline/world.ts";
import { waitFor } from "../harness/wait-for.ts";
import { ObjectIsolate } from "./exchange-isolate.ts";

const bindings = env as unknown as Bindings;

/** One stream, from the side of the upstream. */
interface Live {
  readonly requestId: string;
  /** Sends one more event to the client. */
  emit(text: string): void;
  finish(): void;
}

/** One request, from the side of its client. */
interface Client {
  readonly requestId: string;
  /** The text that has arrived so far. */
  text(): string;
  /** The status, once the whole answer has arrived. Rejects when the answer breaks off. */
  readonly ended: Promise<number>;
}

/**
 * Many requests of one tenant through the real pipeline, Cell, Ledger and budget. The upstream of each request streams until the
 * test ends it.
 */
class Crowd {
  readonly isolate: ObjectIsolate;
  readonly live = new Map<string, Live>();
  /** The largest number of streams that ran at once. */
  peak = 0;
  readonly #world = new TestPipeline();
  readonly #tenantId = crypto.randomUUID();

  constructor(name: string) {
    const budget = { tokens: 1_000_000, cost_usd: null, period: "lifetime", started_at_ms: null } as const;
    this.#world.key = keyOf({ tenant: tenantOf({ id: this.#tenantId, budget }) });
    this.isolate = new ObjectIsolate(name, this.#world.received().ports);
  }

  request(): Client {
    const requestId = crypto.randomUUID();
    const body = JSON.stringify({ model: "tiny", stream: true, max_tokens: 40, messages: [] });
    const received = this.#world.received({ body });
    const ports = {
      ...received.ports,
      clock: Date.now,
      random: { uuid: () => requestId, fraction: () => 0 },
      admission: this.isolate.admission,
      upstream: { fetch: async () => this.#answer(requestId) },
    };
    let text = "";
    const read = async (): Promise<number> => {
      const response = await run({ ...received, ports });
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
      return response.status;
    };
    const ended = read();
    ended.catch(() => undefined);
    return { requestId, text: () => text, ended };
  }

  /** Resolves when all work that was given to `waitUntil` has ended. */
  async settled(): Promise<void> {
    await this.#world.settled();
    await Promise.all(this.isolate.holders);
  }

  /** The ids of the rows on the Ledger's disk, and the sum of their tokens. */
  async rows(): Promise<{ readonly ids: readonly string[]; readonly tokens: number }> {
    const rows = await this.isolate.rows();
    return {
      ids: rows.map((row) => String(row["request_id"])),
      tokens: rows.reduce((sum, row) => sum + Number(row["total_tokens"]), 0),
    };
  }

  async usage(): Promise<BudgetUsage> {
    const { key } = this.#world;
    if (key?.tenant == null) throw new Error("the crowd has a tenant");
    const budget = bindings.TENANT_BUDGET.getByName(this.#tenantId) as unknown as TenantBudgetApi;
    return await budget.usage("tenant", limitsOf(key, key.tenant), null);
  }

  #answer(requestId: string): Response {
    const { live } = this;
    const encoder = new TextEncoder();
    const body = new ReadableStream({
      type: "bytes",
      start: (source) => {
        const emit = (text: string): void => source.enqueue(encoder.encode(`data: ${text}\n\n`));
        const finish = (): void => {
          live.delete(requestId);
          emit("[DONE]");
          source.close();
        };
        live.set(requestId, { requestId, emit, finish });
        this.peak = Math.max(this.peak, live.size);
        emit("begun");
      },
      cancel: () => {
        live.delete(requestId);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }
}

const CAP = 4;

async function crowdOf(
  name: string,
  requests: number,
): Promise<{ crowd: Crowd; clients: ReturnType<Crowd["request"]>[] }> {
  const crowd = new Crowd(name);
  await crowd.isolate.stub.setCapacity(CAP);
  const clients = Array.from({ length: requests }, () => crowd.request());
  await crowd.isolate.load(CAP, requests - CAP);
  await waitFor(
    () => crowd.live.size,
    (size) => size === CAP,
  );
  return { crowd, clients };
}

/** Ends `count` streams, one after another, as soon as they have begun. */
async function finish(crowd: Crowd, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) {
    const [one] = (
      await waitFor(
        () => crowd.live,
        (live) => live.size > 0,
      )
    ).values();
    one?.finish();
  }
}

it("a Cell stores which isolates have requests, as time passes", async () => {
  const [first, second] = [new ObjectIsolate("knows-isolates"), new ObjectIsolate("knows-isolates")];
  const stored = async (...isolates: readonly ObjectIsolate[]) =>
    await waitFor(
      async () =>
        await runInDurableObject(first.stub, (_cell, { storage }) =>
          storage.sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = 'busy'").toArray(),
        ),
      ([row]) => {
        const members = row === undefined ? [] : (JSON.parse(row.value) as string[]);
        return isolates.length === members.length && isolates.every(({ member }) => members.includes(member));
      },
    );
  const held = await first.begin();
  await stored(first);
  const other = await second.begin();
  await stored(first, second);
  await first.end(held);
  await stored(second);
  await second.end(other);
  await stored();
});

it("a Cell that is reset writes the rows of requests that it had given up before", async () => {
  const isolate = new ObjectIsolate("gives-up-and-resets");
  const { request } = await isolate.begin();
  const stored = async (): Promise<number> =>
    await runInDurableObject(
      isolate.stub,
      (_cell, { storage }) => storage.sql.exec("SELECT request_id FROM given_up_rows").toArray().length,
    );
  await isolate.cutOff();
  await waitFor(stored, (count) => count === 1);
  await runInDurableObject(isolate.stub, (_cell, { storage }) => {
    for (const row of ["{", "null", '{"status_code":"none"}'])
      storage.sql.exec("INSERT INTO given_up_rows (request_id, due_at, row) VALUES (?, 0, ?)", row, row);
  });
  await isolate.reset();
  const [row] = await waitFor(
    async () => await isolate.rows(),
    ({ length }) => length > 0,
  );
  expect(row).toMatchObject({ request_id: request.requestId, status_code: 499, error_code: "client_gone" });
  // Those that cannot be read are deleted, and keep nothing from starting.
  await waitFor(stored, (count) => count === 0);
  expect(await isolate.rows()).toHaveLength(1);
});

describe("a Cell that is reset under load", () => {
  it("counts the slots in use again, keeps their streams, and grants no more than its cap", async () => {
    const { crowd, clients } = await crowdOf("reset-once", 12);
    const streaming = clients.filter((client) => crowd.live.has(client.requestId));
    await crowd.isolate.reset();
    for (const stream of crowd.live.values()) stream.emit("after the reset");
    await waitFor(
      () => streaming.map((client) => client.text()),
      (texts) => texts.every((text) => text.includes("after the reset")),
    );
    await crowd.isolate.load(CAP, 8);
    expect([...crowd.live.keys()].toSorted()).toEqual(streaming.map((client) => client.requestId).toSorted());
    await finish(crowd, 12);
    expect(await Promise.all(clients.map(async (client) => await client.ended))).toEqual(clients.map(() => 200));
    expect(crowd.peak).toBe(CAP);
  });

  it("again and again: no row is lost or doubled, and the budget never forgets what was spent", async () => {
    const { crowd, clients } = await crowdOf("reset-often", 16);
    for (let round = 0; round < 3; round += 1) {
      await crowd.isolate.reset();
      await finish(crowd, 4);
    }
    await finish(crowd, 4);
    await Promise.all(clients.map(async (client) => await client.ended));
    await crowd.settled();
    await crowd.isolate.load(0, 0);
    expect(crowd.peak).toBe(CAP);
    const { ids, tokens } = await crowd.rows();
    expect(ids.toSorted()).toEqual(clients.map((client) => client.requestId).toSorted());
    // What a Cell had not reported when it ended counts as spent until the object has read the ledger.
    const { used_tokens, reserved_tokens } = await crowd.usage();
    expect(used_tokens).toBeLessThanOrEqual(tokens);
    expect(used_tokens + reserved_tokens).toBeGreaterThanOrEqual(tokens);
  });
});
