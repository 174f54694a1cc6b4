/** The reservations and bills of a realtime session's events (docs/rules/realtime.md#budgets). */
import { beforeEach, describe, expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { GUARD_POLICY } from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { openSession } from "../../../test/harness/edge/pipeline/realtime-session.ts";
import { keyOf, modelOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPermit, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";

let world: TestPipeline;
let asked: AdmissionRequest[];
let permits: TestPermit[];
/** Admission requests of responses and sub-calls that are granted; from then on a term budget refuses those that reserve. */
let covered: number;

beforeEach(() => {
  [world, asked, permits, covered] = [new TestPipeline(), [], [], Number.POSITIVE_INFINITY];
  world.subCallPermit = async (request) => {
    asked.push(request);
    if (request.reserves === true) covered -= 1;
    if (request.reserves === true && covered < 0) throw new GatewayError("tenant_budget_exhausted");
    const permit = new TestPermit();
    permits.push(permit);
    return permit;
  };
});

const rows = () => permits.flatMap(({ settlement }) => (settlement === null ? [] : [settlement.row]));
const tokensOf = () => rows().map(({ input_tokens: input, output_tokens: output }) => input + output);
const USAGE = { input_tokens: 1_000, output_tokens: 1_000, total_tokens: 2_000 };
const TRANSCRIBED = { type: "conversation.item.input_audio_transcription.completed", transcript: "hi", usage: USAGE };
const DONE = { type: "response.done", response: { status: "completed", output: [], usage: USAGE } };
const item = (text: string) => ({
  type: "conversation.item.create",
  item: { type: "message", role: "user", content: [{ type: "input_text", text }] },
});

describe("an output limit", () => {
  const limited = (limit: unknown, event_id: string) => ({
    type: "session.update",
    event_id,
    session: { max_output_tokens: limit },
  });
  const states = (session: object) => ({ type: "session.updated", session });
  const refuses = (event_id: unknown) => ({ type: "error", error: { event_id } });
  const ask = { type: "response.create" };

  /**
   * The reservation for a response at each question, when the two sides have sent the events between them. A text of the
   * upstream is the id of an event that it refuses.
   */
  async function reservedAfter(
    ...rounds: readonly { readonly said?: readonly unknown[]; readonly told?: readonly unknown[] }[]
  ) {
    const { client, upstream } = await openSession(world);
    const sentAs = (given: string) =>
      upstream.events.map(({ event_id: id }) => id).find((id) => String(id).endsWith(`_${given}`));
    for (const [at, { said = [], told = [] }] of rounds.entries()) {
      client.says(...said);
      client.says({ type: "input_audio_buffer.clear" });
      await upstream.got("input_audio_buffer.clear", at + 1);
      const events = told.map((one) => (typeof one === "string" ? refuses(sentAs(one)) : one));
      upstream.says(...events, { type: "rate_limits.updated" });
      await client.got("rate_limits.updated", at + 1);
      client.says({ ...ask, event_id: `ask ${at}` });
      await upstream.got("response.create", at + 1);
    }
    return asked.map(({ need }) => need.termTokens);
  }

  it("of a session ends with one that says that there is none", async () => {
    const reserved = await reservedAfter(
      { said: [limited(1, "a")], told: [states({ max_output_tokens: 1 })] },
      { said: [limited("inf", "b")] },
      { told: [states({ max_output_tokens: "inf" })] },
    );
    expect(reserved).toEqual([1, 512, 512]);
  });

  it("of a session counts once its upstream states it, and until then the larger one does", async () => {
    const reserved = await reservedAfter(
      { said: [limited(2_000, "a")] },
      { told: [states({ max_output_tokens: 2_000 })] },
      { said: [limited(1, "b")] },
      { told: [states({ max_output_tokens: 1 })] },
    );
    expect(reserved).toEqual([2_000, 2_000, 2_000, 1]);
  });

  it("that its upstream refuses, or takes without stating it, does not become smaller", async () => {
    const reserved = await reservedAfter(
      { said: [limited(1, "a")], told: ["a"] },
      { said: [limited(2, "b")], told: [states({})] },
      { said: [limited(900, "c")], told: ["c"] },
    );
    expect(reserved).toEqual([512, 512, 512]);
  });

  it("that the upstream begins with is the session's", async () => {
    const created = { type: "session.created", session: { max_response_output_tokens: 3_000 } };
    expect(await reservedAfter({ told: [created] })).toEqual([3_000]);
  });

  it("of one response counts for it alone", async () => {
    const { client, upstream } = await openSession(world);
    client.says({ ...ask, response: { max_output_tokens: 7 } }, { ...ask, event_id: "2" });
    await upstream.got("response.create", 2);
    expect(asked.map(({ need }) => need.termTokens)).toEqual([7, 512]);
  });
});

describe("instructions", () => {
  it("that grow after a response count for the next one", async () => {
    const { client, upstream } = await openSession(world);
    upstream.says(
      { type: "response.created", response: { id: "r" } },
      { ...DONE, response: { ...DONE.response, id: "r" } },
    );
    await client.got("response.done");
    const before = asked.length;
    client.says({ type: "session.update", session: { instructions: "word ".repeat(4_000), max_output_tokens: 1 } });
    client.says({ type: "response.create", response: { max_output_tokens: 1 } });
    await upstream.got("response.create");
    expect(asked.slice(before).map(({ need }) => need.termTokens)).toEqual([2_000 + 5_000 + 1]);
  });
});

describe("what was not asked for", () => {
  it("ends the session at the first transcription that a budget does not cover, and is charged", async () => {
    covered = 2;
    const { client, upstream } = await openSession(world);
    upstream.says(...Array.from({ length: 20 }, () => TRANSCRIBED));
    expect(await client.end()).toBe("tenant_budget_exhausted");
    await world.settled();
    expect({ charged: tokensOf(), passed: client.count(TRANSCRIBED.type) }).toEqual({
      charged: [2_000, 2_000, 2_000],
      passed: 2,
    });
    expect(asked.map(({ need }) => need.requests)).toEqual([0, 0, 0, 0]);
  });

  it("is charged once however often its end is reported", async () => {
    const { client, upstream } = await openSession(world);
    const ended = (id: string) => ({ ...DONE, response: { ...DONE.response, id } });
    const said = { ...TRANSCRIBED, item_id: "item_1", content_index: 0 };
    client.says({ type: "response.create", event_id: "1" });
    await upstream.got("response.create");
    upstream.says({ type: "response.created", response: { id: "r" } }, ended("r"), ended("r"), said, said);
    upstream.says(
      { type: "response.created", response: { id: "open" } },
      ended("r"),
      ended("unknown"),
      ended("unknown"),
    );
    await client.got("response.done", 5);
    client.ends();
    await world.settled();
    const charged = rows().map(({ status_code: status, total_tokens: tokens }) => `${status} ${tokens}`);
    expect({ charged: charged.toSorted(), passed: client.count(TRANSCRIBED.type) }).toEqual({
      charged: ["200 2000", "200 2000", "200 2000", "499 2000"],
      passed: 2,
    });
  });

  it("is charged again when a response with its id has begun anew", async () => {
    const { client, upstream } = await openSession(world);
    const begun = { type: "response.created", response: { id: "r" } };
    const ended = { ...DONE, response: { ...DONE.response, id: "r" } };
    upstream.says(begun, ended, begun, ended);
    await client.got("response.done", 2);
    client.ends();
    await world.settled();
    expect(tokensOf()).toEqual([2_000, 2_000]);
  });

  it("is charged by its time when a transcription reports that", async () => {
    world.model = modelOf({ prices: { ...modelOf().prices, input: 0.001, input_second: 0.5 } });
    const { client, upstream } = await openSession(world);
    upstream.says({ ...TRANSCRIBED, usage: { type: "duration", seconds: 2.5 } });
    await client.got(TRANSCRIBED.type);
    client.ends();
    await world.settled();
    expect(rows()).toMatchObject([{ cost_usd: 1.25, input_tokens: 0 }]);
  });

  it("is not what ends while the session does: its response is charged once", async () => {
    // so large that it is read in turns
    const output = Array.from({ length: 40_000 }, (_, at) => ({ type: "message", id: `${at}` }));
    const ending = async () => {
      const { client, upstream } = await openSession(world);
      client.says({ type: "response.create", event_id: "1" });
      await upstream.got("response.create");
      upstream.says({ type: "response.created", response: { id: "r" } });
      await client.got("response.created");
      upstream.says({ ...DONE, response: { ...DONE.response, id: "r", output } });
      return client;
    };
    (await ending()).breaksOff();
    // once the second is read, the first is too
    const second = await ending();
    await second.got("response.done");
    second.ends();
    await world.settled();
    expect({ responses: asked.length, rows: rows().length }).toEqual({ responses: 2, rows: 2 });
  });

  it("is charged as the response that was asked for, or by itself, when it has no usable id", async () => {
    const { client, upstream } = await openSession(world);
    client.says({ type: "response.create", event_id: "1" }, { type: "response.create", event_id: "2" });
    await upstream.got("response.create", 2);
    const begun = (id: unknown) => ({ type: "response.created", response: { id } });
    upstream.says(begun(7), DONE, DONE, { ...DONE, response: { ...DONE.response, id: "unknown" } });
    await client.got("response.done", 3);
    client.ends();
    await world.settled();
    expect({ charged: tokensOf(), responses: asked.length }).toEqual({ charged: [2_000, 2_000, 2_000], responses: 3 });
  });
});

describe("a response that was asked for and has not begun", () => {
  it("is billed for its input when its client leaves", async () => {
    const { client, upstream } = await openSession(world);
    client.says(item("word ".repeat(4_000)), { type: "response.create" });
    await upstream.got("response.create");
    client.ends();
    await world.settled();
    expect(rows()).toMatchObject([{ status_code: 499, input_tokens: 5_004, output_tokens: 0 }]);
  });

  it("is billed nothing when its upstream never got it", async () => {
    const { client, upstream } = await openSession(world);
    upstream.bufferedAmount = Number.POSITIVE_INFINITY;
    client.says({ type: "response.create" });
    await client.end();
    await world.settled();
    expect(rows()).toMatchObject([{ error_code: "realtime_backlog", total_tokens: 0 }]);
  });
});

describe("harm", () => {
  const guarded = (): void => {
    const guardrails_policy = { ...GUARD_POLICY, input_scanners: ["harm" as const], guard_model: "tiny" };
    world.key = keyOf({ tenant: tenantOf({ guardrails_policy }) });
    world.model = modelOf();
    world.upstream = async () => Response.json({ choices: [{ message: { content: "SAFE" } }], usage: USAGE });
  };

  it("is judged of an event only once that has reserved its budgets, as a request of the minute", async () => {
    guarded();
    covered = 2;
    const { client, upstream } = await openSession(world);
    client.says(...Array.from({ length: 30 }, (_, nth) => item(`text ${nth}`)));
    expect(await client.end()).toBe("tenant_budget_exhausted");
    await world.settled();
    expect({ judged: world.upstreamCalls.length, passed: upstream.count("conversation.item.create") }).toEqual({
      judged: 2,
      passed: 2,
    });
    expect(asked.map(({ need: { requests, termTokens } }) => ({ requests, reserves: termTokens > 10 }))).toEqual(
      Array.from({ length: 3 }, () => ({ requests: 1, reserves: true })),
    );
  });

  it("is not judged of an event that a limit of the minute refuses, which does not pass", async () => {
    guarded();
    world.subCallPermit = async () => {
      throw new GatewayError("request_rate_exceeded");
    };
    const { client, upstream } = await openSession(world);
    client.says({ ...item("text"), event_id: "mine" });
    await client.got("error");
    expect({ told: client.events, judged: world.upstreamCalls.length, passed: upstream.events }).toMatchObject({
      told: [{ error: { code: "request_rate_exceeded", event_id: "mine" } }],
      judged: 0,
      passed: [],
    });
  });
});
