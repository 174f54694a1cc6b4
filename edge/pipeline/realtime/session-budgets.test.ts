/** What the events of a realtime session reserve, and what they are billed (docs/rules/realtime.md#budgets). */
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
  it("of a session ends with one that says that there is none", async () => {
    const { client, upstream } = await openSession(world);
    const limited = (limit: unknown) => ({ type: "session.update", session: { max_output_tokens: limit } });
    const ask = (id: string, response = {}) => ({ type: "response.create", event_id: id, response });
    client.says(limited(1), ask("1"), ask("2", { max_output_tokens: "inf" }), limited("inf"), ask("3"));
    await upstream.got("response.create", 3);
    expect(asked.map(({ need }) => need.termTokens)).toEqual([1, 512, 512]);
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
    second.leaves();
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
    client.leaves();
    await world.settled();
    expect({ charged: tokensOf(), responses: asked.length }).toEqual({ charged: [2_000, 2_000, 2_000], responses: 3 });
  });
});

describe("a response that was asked for and has not begun", () => {
  it("is billed for its input when its client leaves", async () => {
    const { client, upstream } = await openSession(world);
    client.says(item("word ".repeat(4_000)), { type: "response.create" });
    await upstream.got("response.create");
    client.leaves();
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
