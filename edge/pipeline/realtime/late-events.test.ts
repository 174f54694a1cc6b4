/** The upstream's events of a realtime session under a policy, as the client gets them (docs/rules/realtime.md#guardrails). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import {
  GUARD_POLICY,
  type GuardPolicy,
  guardedWorldOf,
} from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { openSession } from "../../../test/harness/edge/pipeline/realtime-session.ts";
import { keyOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPermit, type TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const OUTPUT = { ban_keywords: ["secretword"], output_scanners: ["ban_keywords" as const] };
const retrieved = (text: string) => ({
  type: "conversation.item.retrieved",
  item: { type: "message", role: "assistant", content: [{ type: "output_text", text }] },
});
const END = { type: "rate_limits.updated" };

/** The client's events for these messages, in order. */
async function heard(world: TestPipeline, messages: readonly unknown[]) {
  const { client, upstream } = await openSession(world);
  upstream.says(...messages, END);
  await client.got(END.type);
  return client;
}

describe("a guard model judges what the client has retrieved", () => {
  const guarded = (refusal: "tenant_budget_exhausted" | "request_rate_exceeded", covered: number) => {
    const world = guardedWorldOf({ output_scanners: ["harm"], guard_model: "tiny" });
    const asked: AdmissionRequest[] = [];
    world.subCallPermit = async (request) => {
      asked.push(request);
      if (request.reserves === true && asked.length > covered) throw new GatewayError(refusal);
      return new TestPermit();
    };
    world.upstream = async () => Response.json({ choices: [{ message: { content: "SAFE" } }] });
    return { world, asked };
  };

  it("only once that has reserved its budgets, whose end is that of the session", async () => {
    const { world, asked } = guarded("tenant_budget_exhausted", 2);
    const { client, upstream } = await openSession(world);
    upstream.says(...Array.from({ length: 20 }, (_, nth) => retrieved(`text ${nth}`)));
    expect(await client.end()).toBe("tenant_budget_exhausted");
    await world.settled();
    expect({
      judged: world.upstreamCalls.length,
      shown: client.count("conversation.item.retrieved"),
      reserves: asked.map(({ reserves, need: { requests } }) => ({ reserves, requests })),
    }).toEqual({ judged: 2, shown: 2, reserves: Array.from({ length: 3 }, () => ({ reserves: true, requests: 1 })) });
  });

  it("and not when a limit of the minute refuses that: the event is not shown", async () => {
    const { world } = guarded("request_rate_exceeded", 0);
    const client = await heard(world, [retrieved("text")]);
    expect({ told: client.events, closed: client.closed }).toMatchObject({
      told: [{ error: { code: "request_rate_exceeded" } }, END],
      closed: null,
    });
  });
});

describe("a policy that is set during a session", () => {
  it.each([
    ["an item", retrieved("a secretword")],
    ["what is no event", "secretword"],
    ["an event with two types", '{"type":"response.output_text.delta","delta":"secretword","type":"response.x"}'],
  ])("is that of %s, though its client says nothing with text", async (_, message) => {
    const world = guardedWorldOf(null);
    const { client, upstream } = await openSession(world);
    world.key = keyOf({ tenant: tenantOf({ guardrails_policy: { ...GUARD_POLICY, ...OUTPUT } }) });
    upstream.says(message, END);
    await client.got(END.type);
    expect(client.sent.join("")).not.toContain("secretword");
  });
});

describe("an answer under a policy", () => {
  const policy = (action: GuardPolicy["action"]): TestPipeline => guardedWorldOf({ ...OUTPUT, action });
  const at = { response_id: "r", item_id: "i", output_index: 0, content_index: 0 };
  const begun = { type: "response.created", response: { id: "r" } };
  const done = { type: "response.done", response: { id: "r", status: "completed", output: [] } };
  const part = (given: object) => ({ type: "response.content_part.added", ...at, part: given });

  it.each([
    ["text", "text", "response.output_text.delta"],
    ["text", "text", "response.text.delta"],
    ["audio", "transcript", "response.output_audio_transcript.delta"],
    ["audio", "transcript", "response.audio_transcript.delta"],
    ["output_audio", "transcript", "response.output_audio_transcript.delta"],
  ])("cannot be read if a delta continues its part of %s that starts with %s: %s", async (type, member, delta) => {
    const events = [begun, part({ type, [member]: "a secr" }), { type: delta, ...at, delta: "etword" }, done];
    const heardBy = async (action: GuardPolicy["action"]) => {
      const client = await heard(guardedWorldOf({ ...OUTPUT, action, fail_open: false }), events);
      return { errors: client.count("error"), shows: client.sent.join("").includes("etword") };
    };
    const refused = { errors: 1, shows: false };
    expect({ block: await heardBy("block"), redact: await heardBy("redact") }).toEqual({
      block: refused,
      redact: refused,
    });
  });

  it.each(["added", "created"])(
    "cannot be read if a delta continues an item that is shown with text: %s",
    async (name) => {
      const item = { id: "i", ...retrieved("a secr").item };
      const delta = { type: "response.output_text.delta", ...at, delta: "etword" };
      const events = [begun, { type: `conversation.item.${name}`, item }, delta, done];
      for (const action of ["block", "redact"] as const) {
        const client = await heard(guardedWorldOf({ ...OUTPUT, action, fail_open: false }), events);
        expect({ errors: client.count("error"), shows: client.sent.join("").includes("etword") }).toEqual({
          errors: 1,
          shows: false,
        });
      }
    },
  );

  it("is read on behind a failed transcription of the client's audio", async () => {
    const failed = { type: "conversation.item.input_audio_transcription.failed", item_id: "u", error: { code: "x" } };
    const deltas = ["hello ", "world"].map((delta) => ({ type: "response.output_text.delta", ...at, delta }));
    for (const action of ["block", "redact"] as const) {
      const client = await heard(guardedWorldOf({ ...OUTPUT, action, fail_open: false }), [
        begun,
        deltas[0],
        failed,
        deltas[1],
        done,
      ]);
      expect(client.events.map(({ delta: piece = "" }) => piece).join("")).toBe("hello world");
    }
  });

  it.each([
    ["of its response", [begun, { type: "foo.delta", response_id: "r", delta: "a secretword" }, done]],
    ["without the id of its response", [begun, { type: "foo.delta", delta: "a secretword" }, done]],
    ["of no response", [{ type: "foo.bar", text: "a secretword" }]],
    ["with a piece of no response", [{ type: "foo.delta", text: "a secretword" }]],
  ])("is examined in an event of a type that nobody knows: %s", async (_, events) => {
    for (const action of ["block", "redact"] as const) {
      const client = await heard(policy(action), events);
      expect(client.sent.join("")).not.toContain("secretword");
    }
  });

  it.each([
    ["under the id of another response", { response_id: "s" }],
    ["without the id of a response", { response_id: undefined }],
    ["under a long id of its own", { response_id: "s", item_id: "i".repeat(200) }],
  ])("ends the session if an item continues %s, unless it may pass unread", async (_, more) => {
    const piece = (delta: string, of: object) => ({ type: "response.output_text.delta", ...at, ...more, ...of, delta });
    const events = [
      begun,
      piece("a secr", { response_id: "r" }),
      { ...begun, response: { id: "s" } },
      piece("etword", {}),
    ];
    for (const [fail_open, action] of [
      [false, "block"],
      [false, "redact"],
      [true, "block"],
      [false, "log_only"],
    ] as const) {
      const { client, upstream } = await openSession(guardedWorldOf({ ...OUTPUT, action, fail_open }));
      upstream.says(...events, END);
      if (fail_open || action === "log_only") await client.got(END.type);
      else expect(await client.end()).toBe("content_policy_unavailable");
    }
  });

  it("that is redacted is made of messages in JSON", async () => {
    const deltas = ["hello wor", "ld"].map((delta) => ({ type: "response.output_text.delta", ...at, delta }));
    const client = await heard(policy("redact"), [begun, part({ type: "text", text: "" }), ...deltas, done]);
    expect(client.events.map(({ delta: piece = "" }) => piece).join("")).toBe("hello world");
  });

  it("has each name of a message once", async () => {
    const twice = '{"type":"response.output_text.delta","delta":"secretword","type":"rate_limits.x"}';
    const client = await heard(policy("block"), [twice]);
    expect(client.sent[0]).toBe('{"type":"rate_limits.x","delta":"secretword"}');
  });
});
