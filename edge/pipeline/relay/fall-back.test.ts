/** A request between its model and the next one (docs/rules/models.md#fallback-models). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";
import { GRANT, TestPermit, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { MemoryBudget } from "../call/memory/memory-budget.ts";
import { run } from "../run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

/** A request whose model fails, and which waits for a slot of the next one. */
class Moving {
  readonly world = new TestPipeline();
  readonly permit = new TestPermit();
  readonly client = new AbortController();
  readonly answered: Promise<{ status: number; text: string; code: string | undefined }>;

  constructor() {
    const { world, permit } = this;
    const { prices } = modelOf();
    world.model = modelOf({ fallback_models: ["other"], fallback_on: ["failure"] });
    world.otherModels.set("other", modelOf({ model_name: "other", prices: { ...prices, input: 2, output: 2 } }));
    world.upstream = async () =>
      world.upstreamCalls.length === 1 ? new Response("{}", { status: 503 }) : Response.json({ choices: [] });
    world.answers = [
      { ...GRANT, permit },
      { verdict: "waiting", permit },
    ];
    this.answered = this.#run();
  }

  async #run() {
    const response = await run(this.world.received({ signal: this.client.signal }));
    const text = await response.text();
    await this.world.settled();
    const [, code] = /"code":"(\w+)"/.exec(text) ?? [];
    return { status: response.status, text, code };
  }

  async waits(): Promise<void> {
    await waitFor(
      () => this.world.requests,
      (requests) => requests.length === 2,
    );
    this.world.nowMs += 40;
  }

  get asked() {
    return this.world.requests.map(({ model, anew, waitedMs }) => ({ model: model.name, anew, waitedMs }));
  }
}

const NOTHING = { total_tokens: 0, cost_usd: 0 };
const REFUSAL = { code: "tenant_budget_exhausted", retryAfterMs: null, level: null } as const;

describe("a request that waits for a slot of the next model", () => {
  it("asked for it at that model's price, and is counted as one request in all", async () => {
    const moving = new Moving();
    await moving.waits();
    moving.permit.decided.resolve(GRANT);
    expect((await moving.answered).status).toBe(200);
    const [first, second] = moving.world.requests.map(({ need }) => need);
    expect(second).toEqual({ ...first, requests: 0, nanoUsd: 2 * (first?.nanoUsd ?? 0) });
    expect(moving.permit.settlement?.row).toMatchObject({ model: "tiny", served_model: "other", status_code: 200 });
  });

  it("asks again for that model when its records change, and when its place is lost", async () => {
    const moving = new Moving();
    const again = new TestPermit();
    moving.world.answers.push({ verdict: "waiting", permit: again });
    await moving.waits();
    moving.permit.decided.resolve({ verdict: "stale", items: [{ kind: "model", id: "other", rev: 1 }] });
    await waitFor(
      () => moving.world.requests,
      (requests) => requests.length === 3,
    );
    again.decided.reject(new Error("lost"));
    expect((await moving.answered).status).toBe(200);
    expect(moving.asked).toEqual([
      { model: "tiny", anew: false, waitedMs: null },
      { model: "other", anew: false, waitedMs: 0 },
      { model: "other", anew: false, waitedMs: 40 },
      { model: "other", anew: true, waitedMs: 40 },
    ]);
  });

  it("owes nothing when its client leaves", async () => {
    const moving = new Moving();
    await moving.waits();
    moving.client.abort();
    expect((await moving.answered).status).toBe(499);
    expect(moving.permit.settlement).toMatchObject({
      actualTokens: 0,
      row: { ...NOTHING, model: "tiny", served_model: "tiny", status_code: 499, error_code: "client_gone" },
    });
  });

  it("is told that the gateway stops, and not of the failure before", async () => {
    const moving = new Moving();
    await moving.waits();
    moving.world.memory.interruption.interrupt(new GatewayError("gateway_stopping"));
    expect(await moving.answered).toMatchObject({ status: 503, code: "gateway_stopping" });
    expect(moving.permit.settlement?.row).toMatchObject({ ...NOTHING, status_code: 503 });
  });

  it("waits once for a Cell that is away, and not for each model that could follow", async () => {
    const moving = new Moving();
    moving.world.model = modelOf({ fallback_models: ["other", "third"], fallback_on: ["failure"] });
    moving.world.otherModels.set("third", modelOf({ model_name: "third" }));
    await moving.waits();
    moving.permit.decided.reject(new GatewayError("scheduler_unavailable"));
    expect({ status: (await moving.answered).status, models: moving.asked.map(({ model }) => model) }).toEqual({
      status: 502,
      models: ["tiny", "other"],
    });
  });

  it("passes the failure on when the budgets refuse it, with one row", async () => {
    const moving = new Moving();
    await moving.waits();
    moving.permit.decided.resolve({ verdict: "refused", refusal: REFUSAL });
    expect((await moving.answered).status).toBe(502);
    expect(moving.permit.settlement?.row).toMatchObject({
      ...NOTHING,
      served_model: "tiny",
      status_code: 502,
      upstream_status: 503,
      admission: "fast",
    });
    expect({ orphans: moving.world.orphans, recorded: moving.world.recorded }).toEqual({ orphans: [], recorded: [] });
  });
});

describe("a fallback whose API cannot carry the request", () => {
  async function served(fallback_models: string[], model = "tiny") {
    const world = new TestPipeline();
    world.model = modelOf({
      fallback_models,
      fallback_on: ["failure"],
      maintenance_until_ms: Number(model === "auto") * 1e15,
    });
    world.otherModels.set("messages", modelOf({ model_name: "messages", api_dialect: "anthropic" }));
    world.otherModels.set("third", modelOf({ model_name: "third" }));
    world.upstream = async () =>
      model === "tiny" && world.upstreamCalls.length === 1
        ? new Response("of tiny", { status: 429 })
        : Response.json({ choices: [] });
    const body = { model, n: 2, messages: [{ role: "user", content: "hello" }] };
    const response = await run(world.received({ body: JSON.stringify(body) }));
    const text = await response.text();
    await world.settled();
    const { served_model } = world.permit.settlement?.row ?? {};
    return { status: response.status, text, served_model, slots: world.requests.length };
  }

  it("is passed over without a slot, and the next one is asked", async () => {
    expect(await served(["messages", "third"])).toMatchObject({ status: 200, served_model: "third", slots: 2 });
  });

  it("leaves the answer of the last model to the client", async () => {
    expect(await served(["messages"])).toEqual({ status: 429, text: "of tiny", served_model: "tiny", slots: 1 });
  });

  it("is passed over though auto has chosen it", async () => {
    expect(await served([], "auto")).toMatchObject({ status: 200, served_model: "third", slots: 2 });
  });
});

it("a row names the model whose upstream was called, though the next one admitted the request", async () => {
  const moving = new Moving();
  moving.world.otherModels.set(
    "other",
    modelOf({ model_name: "other", api_base: "http://other.test", api_key: "of the other" }),
  );
  moving.world.open = async (stored) => {
    if (stored === "of the other") moving.client.abort();
    return stored;
  };
  await moving.waits();
  moving.permit.decided.resolve(GRANT);
  expect((await moving.answered).status).toBe(499);
  expect(moving.permit.settlement?.row).toMatchObject({
    ...NOTHING,
    model: "tiny",
    served_model: "tiny",
    upstream_model: modelOf().upstream_model,
    upstream_status: 503,
    status_code: 499,
  });
});

describe("an error that is kept while the request asks for the next model", () => {
  const TOO_LONG = JSON.stringify({ error: { message: "too long", code: "context_length_exceeded" } });

  function tooLong(body: BodyInit, fallback_on: ("failure" | "context_length")[]): TestPipeline {
    const world = new TestPipeline();
    world.model = modelOf({ fallback_models: ["other"], fallback_on });
    world.otherModels.set("other", modelOf({ model_name: "other" }));
    world.upstream = async () => new Response(body, { status: 400 });
    return world;
  }

  it("has its memory while the request waits, and gives it back", async () => {
    const moving = new Moving();
    moving.world.model = modelOf({ fallback_models: ["other"], fallback_on: ["context_length"] });
    moving.world.upstream = async () =>
      moving.world.upstreamCalls.length === 1
        ? new Response(TOO_LONG, { status: 400 })
        : Response.json({ choices: [] });
    await moving.waits();
    const { answerMemory } = moving.world.memory;
    expect(answerMemory.usedBytes).toBe(TOO_LONG.length);
    moving.permit.decided.resolve(GRANT);
    expect((await moving.answered).status).toBe(200);
    expect(answerMemory.usedBytes).toBe(0);
  });

  it.each([
    ["whole", 3, 3_000],
    ["up to 64 KiB, and the rest is cancelled", Number.POSITIVE_INFINITY, 65_536],
  ])("is read meanwhile: %s", async (_, pieces, keptBytes) => {
    const moving = new Moving();
    const isFree = Promise.withResolvers<void>();
    let left = pieces;
    const body = new ReadableStream({
      type: "bytes",
      pull: (controller) => {
        left -= 1;
        if (left >= 0) return controller.enqueue(new TextEncoder().encode("x".repeat(1_000)));
        controller.close();
        controller.byobRequest?.respond(0);
        isFree.resolve();
      },
      cancel: () => isFree.resolve(),
    });
    moving.world.upstream = async () => new Response(body, { status: 503 });
    await moving.waits();
    await isFree.promise;
    moving.permit.decided.resolve({ verdict: "refused", refusal: REFUSAL });
    const { status, text } = await moving.answered;
    expect({ status, gotBytes: text.length }).toEqual({ status: 502, gotBytes: keptBytes });
    expect(moving.world.memory.answerMemory.usedBytes).toBe(0);
  });

  it("is passed on at once, whole, when there is no memory for it", async () => {
    const world = tooLong(TOO_LONG, ["context_length"]);
    world.memory.answerMemory = new MemoryBudget(TOO_LONG.length - 1);
    const response = await run(world.received());
    expect({ status: response.status, body: await response.text() }).toEqual({ status: 400, body: TOO_LONG });
    expect(world.requests.map(({ model }) => model.name)).toEqual(["tiny"]);
  });

  it("is not read when its model falls back on failures only", async () => {
    const stalls = new ReadableStream({ type: "bytes", start: (source) => source.enqueue(new Uint8Array([123])) });
    const world = tooLong(stalls, ["failure"]);
    const response = await run(world.received());
    expect(response.status).toBe(400);
    await response.body?.cancel();
    await world.settled();
    expect(world.permit.settlement?.row).toMatchObject({ ...NOTHING, status_code: 400 });
  });
});
