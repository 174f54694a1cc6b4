/**
 * The events that a realtime session passes on under a policy, and the names that an event may contain
 * (docs/rules/realtime.md#guardrails).
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type GuardPolicy, guardedWorldOf } from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import type { HeldSocket } from "../../../test/harness/edge/pipeline/held-socket.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { openSession } from "../../../test/harness/edge/pipeline/realtime-session.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";

const INPUT = { ban_keywords: ["secretword"], input_scanners: ["ban_keywords" as const] };
const OUTPUT = { ban_keywords: ["secretword"], output_scanners: ["ban_keywords" as const] };

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const opened = async (policy: Partial<GuardPolicy> | null) => await openSession(guardedWorldOf(policy));

/** The events of a client, one after another, and the outcome: the events that were passed on, and the codes of the others. */
async function said(policy: Partial<GuardPolicy> | null, events: readonly unknown[]) {
  const { client, upstream } = await opened(policy);
  for (const event of events) client.says(event);
  const of = () => upstream.sent.length + client.sent.length;
  await waitFor(of, (count) => count >= events.length);
  return { sent: upstream.sent, codes: codesOf(client) };
}

/** The events of an upstream, and those that the client gets before the event that announces the end. */
async function heard(policy: Partial<GuardPolicy> | null, messages: readonly unknown[]) {
  const { client, upstream } = await opened(policy);
  for (const message of messages) upstream.says(message);
  upstream.says({ type: "session.updated" });
  await waitFor(
    () => client.sent.includes('{"type":"session.updated"}'),
    (isThere) => isThere,
  );
  return { got: client.sent.slice(0, -1), codes: codesOf(client) };
}

function codesOf({ sent }: HeldSocket): readonly string[] {
  return sent
    .filter((text) => typeof text === "string" && text.startsWith('{"type":"error"'))
    .map((text) => (JSON.parse(text) as { readonly error: { readonly code: string } }).error.code);
}

const bytesOf = (...bytes: readonly number[]): ArrayBuffer => new Uint8Array(bytes).buffer;
const encoded = (value: unknown): ArrayBuffer => new Uint8Array(new TextEncoder().encode(JSON.stringify(value))).buffer;
const item = (text: string, role = "user") => ({
  type: "message",
  role,
  content: [{ type: role === "user" ? "input_text" : "output_text", text }],
});
const created = (text: string) => ({ type: "conversation.item.create", item: item(text) });
const SECRET = { instructions: "say secretword" };

describe("an event of a client", () => {
  it.each([
    ["an item beside its response", { type: "response.create", item: {}, response: SECRET }],
    ["an item beside its session", { type: "session.update", item: {}, session: SECRET }],
    ["an item in another spelling", { ...created("hi"), Item: item("secretword") }],
    ["an item that is a list", { type: "conversation.item.create", item: [item("secretword")] }],
    ["a session without text by its type", { type: "input_audio_buffer.commit", session: SECRET }],
    ["a text without text by its type", { type: "input_audio_buffer.commit", audio: { text: "secretword" } }],
  ])("is refused with %s", async (_, event) => {
    expect(await said(INPUT, [event])).toEqual({ sent: [], codes: ["validation_failed"] });
  });

  it("is examined beside its item", async () => {
    const beside = { ...created("hi"), items: [item("secretword")] };
    expect(await said(INPUT, [beside])).toEqual({ sent: [], codes: ["request_blocked"] });
  });

  it.each([
    ["a field that steers beside `session`", { type: "response.create", session: {}, api_base: "http://x" }],
    ["one in `response` beside `session`", { type: "response.create", session: {}, response: { models: ["x"] } }],
    ["one at its root", { type: "session.update", session: {}, models: ["x"] }],
    ["one in a holder", { type: "response.create", response: { extra_body: { model: "x" } } }],
    ["a model in another spelling", { type: "session.update", session: { Model: "x" } }],
    ["a model of a response", { type: "response.create", response: { model: "x" } }],
  ])("is refused with %s", async (_, event) => {
    expect(await said(null, [event])).toEqual({ sent: [], codes: ["validation_failed"] });
  });

  it("may not name an object of another tenant, at its root or in items of a name of its own", async () => {
    const events = [
      { type: "response.create", session: {}, prompt: { id: "pmpt_1" } },
      { type: "session.update", session: { items: [{ file_id: "file_1" }] } },
    ];
    expect(await said(null, events)).toEqual({ sent: [], codes: ["object_not_found", "object_not_found"] });
  });

  it("is sent on as a text when it came in bytes, which are otherwise refused", async () => {
    const event = { type: "session.update", session: { type: "realtime" } };
    const withBad = new Uint8Array([...new Uint8Array(encoded(event)), 0xff]).buffer;
    const withMark = new Uint8Array([0xef, 0xbb, 0xbf, ...new Uint8Array(encoded(event))]).buffer;
    expect(await said(null, [encoded(event), bytesOf(0xff, 1), withBad, withMark])).toEqual({
      sent: [expect.stringContaining('"session":{"type":"realtime"}')],
      codes: ["invalid_json", "invalid_json", "invalid_json"],
    });
  });

  it("is blocked when its item completes a word of the items before it", async () => {
    const events = [created("sec"), created("ret"), created("word"), created("harmless")];
    const { sent, codes } = await said(INPUT, events);
    expect({ sent: sent.length, codes }).toEqual({ sent: 3, codes: ["request_blocked"] });
  });
});

describe("an event of an upstream, with nothing under way", () => {
  it.each(["conversation.item.retrieved", "conversation.item.done"])("%s is examined", async (type) => {
    const secret = { type, item: item("a secretword", "assistant") };
    const harmless = { type, item: item("harmless", "assistant") };
    const blocked = await heard(OUTPUT, [secret, harmless]);
    const redacted = await heard({ ...OUTPUT, action: "redact" }, [secret]);
    expect({
      codes: blocked.codes,
      hasHarmless: blocked.got.includes(JSON.stringify(harmless)),
      shows: [...blocked.got, ...redacted.got].join().includes("secretword"),
      redacted: redacted.got.length,
    }).toEqual({ codes: ["response_blocked"], hasHarmless: true, shows: false, redacted: 1 });
  });

  it("that shows what the client said passes, and a piece of an answer does not", async () => {
    const own = { type: "conversation.item.done", item: item("my secretword") };
    const piece = { type: "response.output_text.delta", response_id: "gone", delta: "secret" };
    expect((await heard(OUTPUT, [own, piece])).got).toEqual([JSON.stringify(own)]);
  });

  it("that cannot be read passes only without a policy", async () => {
    const messages = [bytesOf(0xff, 1), "secretword"];
    const passed = { free: (await heard(null, messages)).got.length, examined: (await heard(OUTPUT, messages)).got };
    expect(passed).toEqual({ free: 2, examined: [] });
  });
});
