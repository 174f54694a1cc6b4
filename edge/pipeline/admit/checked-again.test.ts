/**
 * A request whose turn comes after its records changed (docs/rules/admission.md#checked-again): it reads them again, and
 * is refused or asks for admission again from its place.
 */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import type { RevItem } from "../../../shared/wire/internal.ts";
import { keyOf, modelOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPermit, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import type { AdmissionOutcome } from "../../ports.ts";
import { run } from "../run.ts";

const CHANGED: readonly RevItem[] = [{ kind: "tenant", id: tenantOf().id, rev: 2 }];

/** A waiting request that must be checked again when the test decides so. */
class Waiting {
  readonly world = new TestPipeline();
  readonly place = new TestPermit();
  readonly client = new AbortController();
  readonly answered: Promise<{ status: number; code: string | undefined; headers: Headers }>;

  constructor(arrange: (world: TestPipeline) => void = () => undefined) {
    arrange(this.world);
    this.world.answers = [{ verdict: "waiting", permit: this.place }];
    this.world.upstream = async () => new Response(null, { status: 404 });
    this.answered = this.#run();
  }

  async #run() {
    const response = await run(this.world.received({ signal: this.client.signal }));
    const body = (await response.json().catch(() => null)) as { error?: { code: string } } | null;
    await this.world.settled();
    return { status: response.status, code: body?.error?.code, headers: response.headers };
  }

  /**
   * The request's turn comes after 40 ms. `answers`: the Cell's answers to its next admission requests; when they are
   * used up, it grants.
   */
  turn(items: readonly RevItem[], ...answers: AdmissionOutcome[]): void {
    this.world.nowMs += 40;
    this.world.answers.push(...answers);
    this.place.decided.resolve({ verdict: "stale", items });
  }
}

/** Waits until the request has sent its first admission request. */
async function asked({ world }: Waiting): Promise<void> {
  await waitFor(
    () => world.requests,
    (requests) => requests.length > 0,
  );
}

describe("a request that is checked again at its turn", () => {
  it("asks again with its new records and its wait, and keeps its place", async () => {
    const waiting = new Waiting();
    await asked(waiting);
    waiting.world.key = keyOf({ tenant: tenantOf({ name: "renamed", weight: 7, rev: 2 }) });
    waiting.turn(CHANGED);
    expect((await waiting.answered).status).toBe(404);
    const [first, again] = waiting.world.requests;
    expect({ firstWaitedMs: first?.waitedMs, againWaitedMs: again?.waitedMs, requestId: again?.requestId }).toEqual({
      firstWaitedMs: null,
      againWaitedMs: 40,
      requestId: first?.requestId,
    });
    expect(again).toMatchObject({ tenant: { name: "renamed", weight: 7 }, revs: expect.arrayContaining([...CHANGED]) });
    expect(waiting.world.forgotten).toEqual([`tenant ${tenantOf().id}`]);
    const { settlement, hasLeft } = waiting.place;
    expect({ settlement, hasLeft, anew: again?.anew }).toEqual({ settlement: null, hasLeft: false, anew: false });
    expect(waiting.world.permit.settlement?.row).toMatchObject({ status_code: 404 });
  });

  it.each([
    ["serves", false, "ok"],
    ["refuses", true, "error"],
  ] as const)("has one span of its caller when its second look-up %s it", async (_, disabled, status) => {
    const waiting = new Waiting((world) => Object.assign(world, { tracesEnabled: true }));
    await asked(waiting);
    waiting.world.key = keyOf({ disabled });
    waiting.turn(CHANGED);
    await waiting.answered;
    const spans = waiting.world.finished.flatMap((finished) => finished.spans);
    expect(spans.filter(({ span_name }) => span_name === "auth_resolve")).toEqual([
      expect.objectContaining({ status, duration_ms: 0, attributes: { source: "store" } }),
    ]);
  });

  it.each<readonly [string, (world: TestPipeline) => void, number, string]>([
    [
      "its key was disabled",
      (world) => Object.assign(world, { key: keyOf({ disabled: true }) }),
      403,
      "api_key_disabled",
    ],
    [
      "its key has another end, which has passed",
      (world) => Object.assign(world, { key: keyOf({ expires_at_ms: 1 }) }),
      403,
      "api_key_expired",
    ],
    [
      "its key got another secret, and the one before it has ended",
      (world) => Object.assign(world, { key: keyOf({ secret_until_ms: 1 }) }),
      401,
      "invalid_api_key",
    ],
    [
      "its model is off the key's list",
      (world) => Object.assign(world, { key: keyOf({ allowed_models: ["other"] }) }),
      403,
      "model_not_permitted",
    ],
    ["its key was deleted", (world) => Object.assign(world, { key: null }), 401, "invalid_api_key"],
    ["its tenant is gone", (world) => Object.assign(world, { key: keyOf({ tenant: null }) }), 403, "tenant_not_found"],
    [
      "its tenant was suspended",
      (world) => Object.assign(world, { key: keyOf({ tenant: tenantOf({ status: "suspended" }) }) }),
      403,
      "tenant_not_active",
    ],
    [
      "its model is off the list",
      (world) => Object.assign(world, { key: keyOf({ tenant: tenantOf({ allowed_models: ["other"] }) }) }),
      403,
      "model_not_permitted",
    ],
    [
      "its model was disabled",
      (world) => Object.assign(world, { model: modelOf({ enabled: false }) }),
      403,
      "model_disabled",
    ],
    ["its model was deleted", (world) => Object.assign(world, { model: null }), 404, "model_not_found"],
  ])(
    "is refused when %s: its upstream is not called, and its row goes through its permit",
    async (_, change, status, code) => {
      const waiting = new Waiting();
      await asked(waiting);
      change(waiting.world);
      waiting.turn(CHANGED);
      expect(await waiting.answered).toMatchObject({ status, code });
      expect({
        requestCount: waiting.world.requests.length,
        upstreamCalls: waiting.world.upstreamCalls,
      }).toEqual({ requestCount: 1, upstreamCalls: [] });
      expect({ recorded: waiting.world.recorded, orphans: waiting.world.orphans }).toEqual({
        recorded: [],
        orphans: [],
      });
      expect(waiting.place.settlement).toMatchObject({
        actualTokens: 0,
        row: {
          status_code: status,
          admission: "rejected",
          tenant_id: tenantOf().id,
          key_id: keyOf().key_id,
          queue_wait_ms: 40,
          total_tokens: 0,
        },
      });
    },
  );

  it.each<readonly [string, (untilMs: number) => ReturnType<typeof keyOf>, number, string]>([
    [
      "its tenant's term has ended",
      (untilMs) => keyOf({ tenant: tenantOf({ active_until_ms: untilMs }) }),
      403,
      "tenant_expired",
    ],
    ["its key has ended", (untilMs) => keyOf({ expires_at_ms: untilMs }), 403, "api_key_expired"],
    ["the grace of its secret has ended", (untilMs) => keyOf({ secret_until_ms: untilMs }), 401, "invalid_api_key"],
  ])("is refused by the clock when %s meanwhile", async (_, keyUntil, status, code) => {
    const waiting = new Waiting((world) => {
      world.key = keyUntil(world.nowMs + 30);
    });
    await asked(waiting);
    expect(waiting.world.requests[0]?.openUntilMs).toBe(waiting.world.nowMs + 30);
    waiting.turn([]);
    expect(await waiting.answered).toMatchObject({ status, code });
    expect(waiting.place.settlement?.row.status_code).toBe(status);
  });

  it("is refused with 503 when the store does not answer, or still has the old record", async () => {
    const waiting = new Waiting();
    await asked(waiting);
    waiting.turn(CHANGED, { verdict: "stale", items: CHANGED }, { verdict: "stale", items: CHANGED });
    expect(await waiting.answered).toMatchObject({ status: 503, code: "key_store_unavailable" });
    expect({
      requestCount: waiting.world.requests.length,
      status_code: waiting.place.settlement?.row.status_code,
    }).toEqual({ requestCount: 3, status_code: 503 });
    expect({
      upstreamCalls: waiting.world.upstreamCalls,
      recorded: waiting.world.recorded,
      orphans: waiting.world.orphans,
    }).toEqual({ upstreamCalls: [], recorded: [], orphans: [] });
  });

  it("is checked as often as its records change", async () => {
    const waiting = new Waiting();
    await asked(waiting);
    const next = new TestPermit();
    next.decided.resolve({ verdict: "stale", items: CHANGED });
    waiting.turn(CHANGED, { verdict: "waiting", permit: next });
    expect((await waiting.answered).status).toBe(404);
    expect({
      requestCount: waiting.world.requests.length,
      earlierSettlements: [waiting.place.settlement, next.settlement],
      status_code: waiting.world.permit.settlement?.row.status_code,
    }).toEqual({ requestCount: 3, earlierSettlements: [null, null], status_code: 404 });
  });

  it("writes one row when the Cell can no longer be reached", async () => {
    const waiting = new Waiting();
    await asked(waiting);
    const { world } = waiting;
    Object.assign(world, {
      answers: {
        push: () => 0,
        shift: () => {
          throw new GatewayError("scheduler_unavailable");
        },
      },
    });
    waiting.turn(CHANGED);
    expect(await waiting.answered).toMatchObject({ status: 503, code: "scheduler_unavailable" });
    expect({
      orphanCount: world.orphans.length,
      recorded: world.recorded,
      settlement: waiting.place.settlement,
    }).toEqual({
      orphanCount: 1,
      recorded: [],
      settlement: null,
    });
  });

  it("has one row when its client left while it read its records", async () => {
    const waiting = new Waiting();
    await asked(waiting);
    const next = new TestPermit();
    const read = (): ReturnType<typeof keyOf> => {
      waiting.client.abort();
      return keyOf();
    };
    Object.defineProperty(waiting.world, "key", { get: read });
    waiting.turn(CHANGED, { verdict: "waiting", permit: next });
    await waiting.answered;
    const { world } = waiting;
    expect({ upstreamCalls: world.upstreamCalls, recorded: world.recorded, orphans: world.orphans }).toEqual({
      upstreamCalls: [],
      recorded: [],
      orphans: [],
    });
    const settled = [waiting.place, next].flatMap(({ settlement }) => settlement ?? []);
    expect(settled).toMatchObject([{ actualTokens: 0, row: { status_code: 499, admission: "queued" } }]);
  });

  it("keeps waiting after its Cell is reset, and reports how long it has waited", async () => {
    const waiting = new Waiting();
    await asked(waiting);
    waiting.world.nowMs += 25;
    waiting.place.decided.resolve({ verdict: "stale", items: [] });
    expect((await waiting.answered).status).toBe(404);
    expect(waiting.world.requests[1]?.waitedMs).toBe(25);
  });
});

describe("a queue that is full", () => {
  it("is reported with the time after which to try again, and leaves a row through its permit", async () => {
    const world = new TestPipeline();
    world.key = keyOf({ tenant: tenantOf({ tokens_per_minute: 1 }) });
    const refusal = { code: "queue_full", retryAfterMs: 1000, level: null } as const;
    world.answers = [{ verdict: "refused", refusal, permit: world.permit }];
    const response = await run(world.received());
    await world.settled();
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 429,
      body: { error: { message: "queue is full", type: "rate_limit_error", code: "queue_full", param: null } },
    });
    const headers = ["retry-after", "retry-after-ms", "x-should-retry"].map((name) => response.headers.get(name));
    expect(headers).toEqual(["1", "1000", null]);
    expect(world.permit.settlement?.row).toMatchObject({ status_code: 429, admission: "rejected" });
    expect({ recorded: world.recorded, upstreamCalls: world.upstreamCalls }).toEqual({
      recorded: [],
      upstreamCalls: [],
    });
  });
});
