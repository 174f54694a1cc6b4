/** The client's audio, once its upstream has transcribed it (docs/rules/realtime.md#guardrails). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type GuardPolicy, guardedWorldOf } from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { openSession } from "../../../test/harness/edge/pipeline/realtime-session.ts";
import { TestPermit, type TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";

const INPUT = { ban_keywords: ["secretword"], input_scanners: ["ban_keywords" as const] };
const KIND = "conversation.item.input_audio_transcription";
const USAGE = { input_tokens: 20, output_tokens: 10, total_tokens: 30 };

let permits: TestPermit[];

beforeEach(() => {
  vi.stubGlobal("IdentityTransformStream", IdentityTransform);
  permits = [];
});

async function opened(policy: Partial<GuardPolicy>) {
  const world: TestPipeline = guardedWorldOf({ ...INPUT, ...policy });
  world.subCallPermit = async () => {
    const permit = new TestPermit();
    permits.push(permit);
    return permit;
  };
  const { client, upstream } = await openSession(world);
  /** The upstream sends this, and the client has the resulting events. */
  const heard = async (...events: readonly unknown[]) => {
    const nth = client.count("rate_limits.updated") + 1;
    upstream.says(...events, { type: "rate_limits.updated" });
    await client.got("rate_limits.updated", nth);
  };
  return { world, client, upstream, heard };
}

const piece = { type: `${KIND}.delta`, item_id: "item_1", content_index: 0, delta: "a secretword" };
const whole = (transcript: string) => ({ type: `${KIND}.completed`, item_id: "item_1", content_index: 0, transcript });
const begun = (id: string) => ({ type: "response.created", response: { id } });
const delta = (id: string) => ({ type: "response.output_audio_transcript.delta", response_id: id, delta: "answer" });
const done = (id: string, status = "completed") => ({
  type: "response.done",
  response: { id, status, output: [{ type: "message" }], usage: USAGE },
});
const deleted = { type: "conversation.item.deleted", item_id: "item_1" };

describe("a transcript", () => {
  it("that the policy allows is shown once it is whole", async () => {
    const { client, upstream, heard } = await opened({});
    await heard(piece, whole("harmless"));
    expect({ shown: client.types, sent: upstream.sent }).toEqual({
      shown: [`${KIND}.completed`, "rate_limits.updated"],
      sent: [],
    });
  });

  it("is shown in pieces where the policy only logs", async () => {
    const { client, heard } = await opened({ action: "log_only" });
    await heard(piece, whole("a secretword"));
    expect(client.types).toEqual([`${KIND}.delta`, `${KIND}.completed`, "rate_limits.updated"]);
  });

  it("is redacted, also where an item repeats it", async () => {
    const { client, heard } = await opened({ action: "redact" });
    const content = [{ type: "input_audio", transcript: "a secretword here" }];
    const item = { id: "item_1", type: "message", role: "user", content };
    await heard(whole("a secretword here"), { type: "conversation.item.retrieved", item });
    expect({ shows: client.sent.join().includes("secretword"), types: client.types }).toEqual({
      shows: false,
      types: [`${KIND}.completed`, "conversation.item.retrieved", "rate_limits.updated"],
    });
  });

  it("that the policy blocks is not shown, and its item is deleted", async () => {
    const { client, upstream, heard } = await opened({});
    await heard(whole("a secretword"));
    expect({ told: client.events[0], shows: client.sent.join().includes("secretword") }).toMatchObject({
      told: { type: "error", error: { code: "request_blocked" } },
      shows: false,
    });
    expect(upstream.events).toMatchObject([{ type: "conversation.item.delete", item_id: "item_1" }]);
  });

  it("that completes a word of an item before it is blocked", async () => {
    const { client, upstream, heard } = await opened({});
    const content = [{ type: "input_text", text: "a secret" }];
    client.says({ type: "conversation.item.create", item: { type: "message", role: "user", content } });
    await upstream.got("conversation.item.create");
    await heard(whole("word"));
    expect(client.types).toEqual(["error", "rate_limits.updated"]);
  });

  it("of an item without an id ends the session when the policy blocks it", async () => {
    const { client, upstream } = await opened({});
    upstream.says({ type: `${KIND}.completed`, transcript: "a secretword" });
    expect(await client.end()).toBe("request_blocked");
  });
});

describe("a response that may run on a blocked transcript", () => {
  it("is cancelled, shown no further, and charged", async () => {
    const { world, client, upstream, heard } = await opened({});
    await heard(begun("r"), delta("r"), whole("a secretword"), delta("r"), done("r", "cancelled"));
    expect(upstream.events.map(({ type, response_id: id }) => `${String(type)} ${String(id)}`)).toEqual([
      "conversation.item.delete undefined",
      "response.cancel r",
    ]);
    expect(client.types).toEqual([
      "response.created",
      "response.output_audio_transcript.delta",
      "error",
      "response.done",
      "rate_limits.updated",
    ]);
    expect(client.events[3]).toMatchObject({ response: { status: "failed", output: [] } });
    client.ends();
    await world.settled();
    expect(permits.map(({ settlement }) => settlement)).toMatchObject([
      { actualTokens: 30, row: { status_code: 400, error_code: "request_blocked", total_tokens: 30 } },
    ]);
  });

  it("is also one that begins before the item is deleted, and none after that", async () => {
    const { client, upstream, heard } = await opened({});
    await heard(whole("a secretword"), begun("early"), delta("early"), deleted, begun("late"), delta("late"));
    expect(upstream.events.flatMap(({ response_id: id }) => id ?? [])).toEqual(["early"]);
    const shown = client.events.filter(({ type }) => type === delta("").type);
    expect(shown.map(({ response_id: id }) => id)).toEqual(["late"]);
  });

  it("is not passed on while its answer is held", async () => {
    const { client, heard } = await opened({ output_scanners: ["ban_keywords"] });
    await heard(begun("r"), delta("r"), whole("a secretword"), done("r", "cancelled"));
    expect(client.types).toEqual(["error", "response.done", "rate_limits.updated"]);
  });
});

describe("an upstream that refuses", () => {
  const refusal = (event_id: unknown) => ({ type: "error", error: { code: "invalid_value", event_id } });

  it("to delete the blocked item ends the session", async () => {
    const { client, upstream, heard } = await opened({});
    await heard(whole("a secretword"));
    upstream.says(refusal(upstream.events[0]?.["event_id"]));
    expect(await client.end()).toBe("request_blocked");
  });

  it("to cancel a response that is over does not disturb the client", async () => {
    const { client, upstream, heard } = await opened({});
    await heard(begun("r"), whole("a secretword"), done("r"));
    await heard(refusal(upstream.events[1]?.["event_id"]));
    expect(client.count("error")).toBe(1);
  });
});
