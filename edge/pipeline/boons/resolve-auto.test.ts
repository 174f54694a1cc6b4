/** A request for `auto` on its way (docs/rules/auto-router.md), over ports that answer from plain values. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ModelRecord, ResolvedTenant } from "../../../shared/records.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { keyOf, modelOf, settingsOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { knowing, SECRET, type TestPermit, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import type { UpstreamCall } from "../../ports.ts";
import { run, runOther } from "../run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const chatOf = (content: unknown, more: object = {}) =>
  JSON.stringify({ model: "auto", messages: [{ role: "user", content }], ...more });
const named = (name: string, changes: Partial<ModelRecord> = {}) =>
  modelOf({ id: name, model_name: name, upstream_model: `${name}-upstream`, context_window: 0, ...changes });
const priced = (price: number) => ({ prices: { ...modelOf().prices, input: price, output: price } });

type Changes = Partial<TestPipeline> & { readonly others?: readonly ModelRecord[] };

/** A registry of `small`, which is cheap, and `large`; `others` are registered instead of `small`. */
function worldOf({ others = [named("small", priced(1))], ...changes }: Changes = {}): TestPipeline {
  const world = Object.assign(new TestPipeline(), { model: named("large", priced(2)) }, changes);
  register(world, others);
  return world;
}

/** Registers these models in addition to the world's own, and no others. */
function register({ otherModels }: TestPipeline, models: readonly ModelRecord[]): void {
  otherModels.clear();
  for (const model of models) otherModels.set(model.model_name, model);
}

async function ask(world: TestPipeline, body = chatOf("hello"), headers: Record<string, string> = {}) {
  const own = { authorization: `Bearer ${SECRET}`, "content-type": "application/json" };
  const response = await run(world.received({ body, headers: { ...own, ...headers } }));
  const json = (await response.json().catch(() => null)) as { error?: { code: string } } | null;
  await world.settled();
  return {
    status: response.status,
    code: json?.error?.code,
    model: response.headers.get("x-gateway-model"),
    row: world.permit.settlement?.row ?? world.recorded.at(-1),
    explained: world.spans.filter(({ span_name }) => span_name === "auto_route").at(-1)?.attributes,
  };
}

const sentModel = ({ body }: UpstreamCall) => JSON.parse(new TextDecoder().decode(body as Uint8Array)) as ModelRecord;

describe("a request for auto", () => {
  it("uses the best model in upstream, row, header and admission, explained without tracing", async () => {
    const world = worldOf();
    const { status, model, row, explained } = await ask(world);
    expect({ status, model, rowModel: row?.model }).toEqual({ status: 200, model: "small", rowModel: "small" });
    expect(world.requests.map((request) => request.model.name)).toEqual(["small"]);
    expect(world.upstreamCalls.map((call) => sentModel(call))).toMatchObject([{ model: "small-upstream" }]);
    expect(world.spans.map(({ span_name }) => span_name)).toEqual(["auto_route"]);
    expect(explained).toEqual({
      chosen: "small",
      source: "none",
      tags: [],
      candidates: ["small", "large"],
      scores: [1, 0.6],
      excluded: [],
    });
  });

  it("is in the whole trace of a traced key", async () => {
    const world = worldOf({ key: keyOf({ tracing_enabled: true }) });
    await ask(world);
    expect(world.spans.map(({ span_name }) => span_name)).toEqual(
      expect.arrayContaining(["proxy_request", "auto_route"]),
    );
    expect(world.spans.filter(({ span_name }) => span_name === "auto_route")).toHaveLength(1);
  });

  it("finds the tags of its text", async () => {
    const world = worldOf({ model: named("large", { ...priced(2), tags: ["math"] }) });
    expect(await ask(world, chatOf("solve it"))).toMatchObject({
      model: "large",
      explained: { source: "heuristic", tags: ["math"], scores: [0.8, 0.5] },
    });
  });

  it("is an unregistered model on every other path and in every other spelling", async () => {
    const world = worldOf({ model: null });
    const tiny = { model: "auto", prompt: "hello", input: "hello" };
    for (const path of ["/v1/completions", "/v1/embeddings", "/v1/responses"]) {
      const response = await run(world.received({ body: JSON.stringify(tiny) }, path));
      expect({ path, status: response.status }).toEqual({ path, status: 404 });
    }
    expect((await runOther(world.received({ body: chatOf("x") }, "/x/chat/completions"))).status).toBe(404);
    expect((await ask(world, chatOf("hello", { model: "Auto" }))).code).toBe("model_not_found");
    expect(world.upstreamCalls).toEqual([]);
  });

  it.each<[string, Partial<ModelRecord>]>([
    ["disabled", { enabled: false }],
    ["unhealthy", { health_status: "unhealthy" }],
    ["maintenance", { maintenance_until_ms: Number.MAX_SAFE_INTEGER }],
    ["not_chat", { model_type: "embedding" }],
  ])("avoids a model that is %s, and says so", async (reason, changes) => {
    const world = worldOf({ others: [named("small", { ...priced(1), ...changes })] });
    expect(await ask(world)).toMatchObject({ model: "large", explained: { excluded: [`small: ${reason}`] } });
  });

  it("avoids a full model, also before the Cell has reported it again", async () => {
    const world = worldOf({ inFlightByModel: async () => new Map([["small", 6]]) });
    const chosen = [];
    for (let count = 0; count < 3; count += 1) chosen.push((await ask(world)).model);
    // 0.6 (1 - 6/8) + 0.4 = 0.55 against 0.6; each choice counts as one more request
    expect(chosen).toEqual(["large", "small", "large"]);
  });

  it("is served when the Cell does not say how busy it is", async () => {
    const world = worldOf({ inFlightByModel: async () => await Promise.reject(new Error("away")) });
    expect(await ask(world)).toMatchObject({ status: 200, model: "small" });
  });

  it("keeps to the key's list", async () => {
    const world = worldOf({ key: keyOf({ allowed_models: ["large"] }) });
    expect(await ask(world)).toMatchObject({ model: "large", explained: { excluded: ["small: not_permitted"] } });
  });

  it("keeps to the tenant's list, whose models come first in what was excluded", async () => {
    const tenant = tenantOf({ allowed_models: ["large", "worn"] });
    const others = [...Array.from({ length: 30 }, (_, at) => named(`a${at}`)), named("worn", { enabled: false })];
    const world = worldOf({ key: keyOf({ tenant }), others });
    const { model, explained } = await ask(world);
    const { excluded } = explained as { excluded: string[] };
    expect({ model, excludedCount: excluded.length }).toEqual({ model: "large", excludedCount: 20 });
    expect(excluded.slice(0, 2)).toEqual(["worn: disabled", "a0: not_permitted"]);
  });

  it("is 503 with a row without model when nothing fits, after everything was read again", async () => {
    const world = worldOf({ model: named("large", { enabled: false }), others: [] });
    expect(await ask(world)).toMatchObject({
      status: 503,
      code: "no_model_available",
      model: null,
      row: { model: "", status_code: 503, admission: "rejected" },
      explained: { chosen: null, candidates: [], excluded: ["large: disabled"] },
    });
    world.model = named("large");
    expect(await ask(world)).toMatchObject({ status: 200, model: "large" });
    expect(world.events.map(({ labels }) => labels)).toEqual([
      ["auto_route", "failed"],
      ["auto_route", "hit"],
    ]);
  });

  it("takes a new model at most a second after the list was read", async () => {
    const world = worldOf();
    await ask(world);
    register(world, [...world.otherModels.values(), named("tiny", priced(0.5))]);
    expect((await ask(world)).model).toBe("small");
    world.nowMs += 1000;
    expect((await ask(world)).model).toBe("tiny");
  });

  it("lets a model see by its boon only while that boon has a model that sees", async () => {
    const image = chatOf([{ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }]);
    const settings = (name: string | null) => settingsOf({ vision_enabled: true, vision_fallback_model: name });
    const seeing = named("seeing", { ...priced(9), supports: { ...modelOf().supports, vision: true } });
    const world = worldOf({ others: [named("small", { ...priced(1), boons: ["vision"] }), seeing] });
    world.settings.set("boons", settings("seeing"));
    expect((await ask(world, image)).model).toBe("small");
    expect((await ask(world, image, { "x-gateway-boons": "off" })).model).toBe("seeing");
    world.settings.set("boons", settings("small"));
    expect((await ask(world, image)).model).toBe("seeing");
    world.settings.set("boons", settingsOf({ vision_enabled: false, vision_fallback_model: "seeing" }));
    expect((await ask(world, image)).model).toBe("seeing");
  });
});

describe("a request for auto that is checked again", () => {
  const STALE_KEY = { kind: "key", id: "hash", rev: 2 } as const;
  const granted = (permit: TestPermit) =>
    ({ verdict: "granted", grant: { admission: "fast", queueWaitMs: 0, level: null }, permit }) as const;

  it("keeps its model, though another one would be chosen now", async () => {
    const world = worldOf();
    world.answers = [{ verdict: "stale", items: [STALE_KEY] }, granted(world.permit)];
    world.inFlightByModel = async () => {
      register(world, [...world.otherModels.values(), named("free", priced(0))]);
      world.nowMs += 5000;
      return new Map();
    };
    expect((await ask(world)).model).toBe("small");
    expect(world.requests.map(({ model }) => model.name)).toEqual(["small", "small"]);
  });

  it.each<[string, Partial<ModelRecord> | null]>([
    ["disabled", { enabled: false }],
    ["unhealthy", { health_status: "unhealthy" }],
    ["gone", null],
  ])("gets another model when its own is %s by then", async (_, changes) => {
    const world = worldOf();
    const item = { kind: "model", id: "small", rev: 2 } as const;
    const stale: TestPipeline["answers"][number] = { verdict: "stale", items: [item] };
    world.answers = [stale, granted(world.permit)];
    world.inFlightByModel = async () => {
      if (changes === null) register(world, []);
      else register(world, [named("small", { ...priced(1), rev: 2, ...changes })]);
      return new Map();
    };
    expect(await ask(world)).toMatchObject({ status: 200, model: "large", row: { model: "large" } });
    expect(world.requests.map(({ model }) => model.name)).toEqual(["small", "large"]);
  });

  it("is refused without the name of the model that it had when none is left", async () => {
    const world = worldOf({ others: [] });
    world.answers = [{ verdict: "stale", items: [{ kind: "model", id: "large", rev: 2 }] }];
    world.inFlightByModel = async () => {
      world.model = named("large", { rev: 2, enabled: false });
      return new Map();
    };
    expect(await ask(world)).toMatchObject({
      status: 503,
      code: "no_model_available",
      model: null,
      row: { model: "" },
    });
  });

  it("is chosen by new settings of the router", async () => {
    const world = worldOf({ stale: knowing({ kind: "settings", id: "auto_router", rev: 1 }) });
    world.settings.set("auto_router", settingsOf({}));
    world.answers = [
      { verdict: "stale", items: [{ kind: "settings", id: "auto_router", rev: 2 }] },
      granted(world.permit),
    ];
    world.inFlightByModel = async () => {
      world.settings.set("auto_router", { ...settingsOf({}), rev: 2 });
      world.model = named("large", priced(0));
      return new Map();
    };
    expect((await ask(world)).model).toBe("large");
    expect(world.requests.map(({ revs }) => revs.find(({ id }) => id === "auto_router")?.rev)).toEqual([1, 2]);
  });
});

const POLICY = {
  action: "block",
  input_scanners: ["pii"],
  output_scanners: [],
  guard_model: null,
  ban_keywords: [],
  fail_open: true,
  scan_assistant: false,
} satisfies ResolvedTenant["guardrails_policy"];

describe("the classifier", () => {
  const ON = { classifier_enabled: true, classifier_model: "classifier", classifier_timeout_ms: 20 };
  const NOT_CHAT = "the answer is not one of a chat model";
  const endless = (signal: AbortSignal) =>
    new ReadableStream({
      type: "bytes",
      start: (to) => {
        to.enqueue(new TextEncoder().encode("{"));
        signal.addEventListener("abort", () => to.error(new Error("aborted")));
      },
    });
  const broken = () => new ReadableStream({ type: "bytes", pull: (to) => to.error(new Error("cut")) });
  const says = (content: unknown) => Response.json({ choices: [{ message: { content } }] });

  /** `large` has the tag poetry; `classifier` is called, and costs too much to be chosen. */
  function classifiedBy(
    answer: (call: UpstreamCall) => Promise<Response>,
    changes: Partial<TestPipeline> = {},
  ): TestPipeline {
    const world = worldOf({
      model: named("large", { ...priced(2), tags: ["poetry"] }),
      others: [
        named("small", priced(1)),
        named("classifier", { ...priced(9), api_base: "http://auto.test", api_key: "sealed" }),
      ],
      ...changes,
    });
    world.settings.set("auto_router", settingsOf(ON));
    world.upstream = async (call) =>
      call.url.startsWith("http://auto.test") ? await answer(call) : Response.json({ choices: [] });
    return world;
  }
  const classifierCalls = (world: TestPipeline) =>
    world.upstreamCalls.filter(({ url }) => url.startsWith("http://auto.test"));

  it.each([
    ["block", 0],
    ["redact", 0],
    ["log_only", 1],
  ] as const)("gets no text that guardrails may still %s (calls: %i)", async (action, calls) => {
    const world = classifiedBy(async () => says('["poetry"]'));
    world.key = keyOf({ tenant: tenantOf({ guardrails_policy: { ...POLICY, action } }) });
    await ask(world, chatOf("a sonnet, please"));
    expect(classifierCalls(world)).toHaveLength(calls);
  });

  it.each([
    ["its settings", { kind: "settings", id: "auto_router", rev: 99 }],
    ["the caller", { kind: "tenant", id: tenantOf().id, rev: 99 }],
  ] as const)("is not asked when %s changed", async (_, newer) => {
    const world = classifiedBy(async () => says('["poetry"]'));
    world.stale = knowing(newer);
    await ask(world, chatOf("a sonnet, please"));
    expect(classifierCalls(world)).toEqual([]);
  });

  it("is called directly, with its own credential, no client headers and no row", async () => {
    const world = classifiedBy(async () => says('["poetry"]'));
    const { model, explained } = await ask(world, chatOf("a sonnet, please"), { "openai-beta": "x", "x-own": "y" });
    expect(model).toBe("large");
    expect(explained).toMatchObject({ source: "classifier", tags: ["poetry"] });
    const [call] = classifierCalls(world);
    expect(call?.url).toBe("http://auto.test/v1/chat/completions");
    expect(call?.headers["authorization"]).toBe("Bearer opened sealed");
    expect(Object.keys(call?.headers ?? {}).filter((name) => name === "openai-beta" || name === "x-own")).toEqual([]);
    expect(sentModel(call as UpstreamCall)).toMatchObject({
      model: "classifier-upstream",
      max_tokens: 32,
      temperature: 0,
      messages: [{ role: "system" }, { role: "user", content: "a sonnet, please" }],
    });
    expect(world.requests).toHaveLength(1);
    expect(world.recorded).toEqual([]);
  });

  it("is asked once per text and tags in 300 s, also when it named nothing", async () => {
    const world = classifiedBy(async () => says("nothing fits"));
    expect((await ask(world, chatOf("solve it"))).explained).toMatchObject({ source: "heuristic", tags: ["math"] });
    await ask(world, chatOf("solve it"));
    expect(classifierCalls(world)).toHaveLength(1);
    world.nowMs += 300_000;
    await ask(world, chatOf("solve it"));
    expect(classifierCalls(world)).toHaveLength(2);
  });

  it.each<[string, string, (call: UpstreamCall) => Promise<Response>]>([
    ["an error", "answered 502", async () => new Response("no", { status: 500 })],
    ["garbage", NOT_CHAT, async () => new Response("<html>")],
    ["an empty body", NOT_CHAT, async () => new Response(null)],
    ["JSON of another shape", NOT_CHAT, async () => Response.json({ choices: { 0: "poetry" } })],
    ["too much", "the answer is too large", async () => says("poetry ".repeat(700_000))],
    ["a body that breaks off", "auto.test: cut", async () => new Response(broken())],
    ["no connection", "auto.test: refused", async () => await Promise.reject(new Error("refused"))],
    ["no answer", "auto.test: no complete answer within 0.02 s", async ({ signal }) => await untilAborted(signal)],
    ["no end in time", "no complete answer within 0.02 s", async ({ signal }) => new Response(endless(signal))],
  ])("that gives %s leaves it to the heuristics, and no answer is remembered", async (_, reason, answer) => {
    const world = classifiedBy(answer);
    expect(await ask(world, chatOf("solve it"))).toMatchObject({
      status: 200,
      explained: { source: "heuristic", tags: ["math"] },
    });
    expect(world.logged.filter(({ name }) => name === "auto_classifier_failed")).toMatchObject([{ reason }]);
    expect(world.alerts).toEqual([]);
    await ask(world, chatOf("solve it"));
    expect(classifierCalls(world)).toHaveLength(2);
  });

  it.each<[string, Partial<ModelRecord> | null, object]>([
    ["off", {}, { ...ON, classifier_enabled: false }],
    ["not named", {}, { ...ON, classifier_model: null }],
    ["not registered", {}, { ...ON, classifier_model: "missing" }],
    ["disabled", { enabled: false }, ON],
    ["at an address that may not be called", { api_base: "http://127.0.0.1:1" }, ON],
  ])("that is %s is not asked", async (_, changes, settings) => {
    const world = classifiedBy(async () => says("poetry"));
    world.model = { ...named("large", priced(2)), tags: ["poetry"] };
    world.ssrf = { blockPrivate: true, allowedCidrs: [] };
    const others = [...world.otherModels.values()];
    register(
      world,
      others.map((model) => (model.model_name === "classifier" ? { ...model, ...changes } : model)),
    );
    world.settings.set("auto_router", settingsOf(settings));
    if ("classifier_model" in settings && settings.classifier_model === "missing") world.model = null;
    expect((await ask(world)).status).toBe(200);
    expect(classifierCalls(world)).toEqual([]);
  });

  it("ends with its client", async () => {
    const leaving = new AbortController();
    const world = classifiedBy(async ({ signal }) => {
      leaving.abort();
      return await untilAborted(signal);
    });
    const response = await run(world.received({ body: chatOf("a sonnet"), signal: leaving.signal }));
    await world.settled();
    expect({ status: response.status, requests: world.requests }).toEqual({ status: 499, requests: [] });
  });

  async function untilAborted(signal: AbortSignal): Promise<Response> {
    const aborted = Promise.withResolvers<Response>();
    if (signal.aborted) aborted.reject(signal.reason);
    signal.addEventListener("abort", () => aborted.reject(signal.reason));
    return await aborted.promise;
  }
});
