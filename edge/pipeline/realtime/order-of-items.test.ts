/**
 * The texts of a realtime session as its model reads them: their order, and their speakers (docs/rules/realtime.md#guardrails).
 */
import { describe, expect, it } from "vitest";
import { type GuardPolicy, guardedWorldOf } from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { openSession } from "../../../test/harness/edge/pipeline/realtime-session.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";

const INPUT = { ban_keywords: ["secretword"], input_scanners: ["ban_keywords" as const] };

const message = (text: string, role = "user") => ({
  type: "message",
  role,
  content: [{ type: role === "assistant" ? "output_text" : "input_text", text }],
});
const named = (name: string) => ({ ...message("hi"), name });
const thought = (text: string) => ({ type: "reasoning", summary: [{ type: "summary_text", text }] });
const result = (output: string) => ({ type: "function_call_output", call_id: "call_1", output });
const created = (item: object, more: object = {}) => ({ type: "conversation.item.create", item, ...more });

const refusalOf = ({ event_id = null }: { readonly event_id?: unknown } = {}) => ({
  type: "error",
  error: { event_id },
});

/** The events of a client, and the outcome: the events that were passed on, and the messages to the client. */
async function said(policy: Partial<GuardPolicy> | null, events: readonly object[]) {
  const { client, upstream } = await openSession(guardedWorldOf(policy));
  client.says(...events);
  await waitFor(
    () => client.sent.length + upstream.sent.length,
    (count) => count >= events.length,
  );
  const told = client.events.map(({ error }) => error as { readonly code: string; readonly param: unknown });
  return {
    passed: upstream.sent.length,
    codes: told.map(({ code }) => code),
    params: told.map(({ param }) => param),
    upstream,
  };
}

describe("a word that is split over items is found", () => {
  it.each([
    ["an assistant's text", message("hello", "assistant")],
    ["a tool's result", result("x")],
  ])("with %s between them", async (_, between) => {
    const events = [created(message("please sec")), created(between), created(message("retword go"))];
    expect(await said(INPUT, events)).toMatchObject({ passed: 2, codes: ["request_blocked"] });
  });

  it.each([
    ["a system message stands between them", [message("please sec"), message("X", "system"), message("retword go")]],
    [
      "a user's text stands between system messages",
      [message("please sec", "system"), message("X"), message("retword go", "system")],
    ],
    [
      "a system message goes before it",
      [message("retword go"), message("X", "system"), message("please sec", "system")],
    ],
    ["it begins behind a word", [message("hello"), message("sec"), message("retword")]],
    ["its parts are names", [named("please sec"), named("retword")]],
    ["its parts are thoughts", [thought("please sec"), thought("retword go")]],
    ["contents stand between its thoughts", [thought("please sec"), message("X"), thought("retword go")]],
  ])("when %s", async (_, items) => {
    const events = items.map((item) => created(item));
    expect(await said(INPUT, events)).toMatchObject({ passed: items.length - 1, codes: ["request_blocked"] });
  });

  it.each([
    ["ends with its only blank", [`${"-".repeat(1_100)}secret `]],
    ["ends with its only line break", [`${"-".repeat(1_100)}secret\n`]],
    ["is followed by a blank", [`${"長".repeat(1_100)}-secret`, " "]],
  ])("when a long text without blanks %s", async (_, texts) => {
    const events = [...texts, "word go"].map((text) => created(message(text)));
    const policy = { ...INPUT, ban_keywords: ["secret word", "secret\nword"] };
    expect(await said(policy, events)).toMatchObject({ passed: texts.length, codes: ["request_blocked"] });
  });

  it("or ends the session when the first of two equal items was refused", async () => {
    const { client, upstream } = await openSession(guardedWorldOf(INPUT));
    const long = created(message(`${"hello there ".repeat(110)}please sec`));
    client.says(long, long);
    await upstream.got("conversation.item.create", 2);
    upstream.says(refusalOf(upstream.events[0]));
    expect(await client.end()).toBe("content_policy_unavailable");
  });

  it("when the item between them was refused by the upstream", async () => {
    const { client, upstream } = await openSession(guardedWorldOf(INPUT));
    client.says(created(message("please sec")), created(message("x".repeat(2_000)), { event_id: "bad" }));
    await upstream.got("conversation.item.create", 2);
    upstream.says(refusalOf(upstream.events[1]));
    await client.got("error");
    client.says(created(message("retword go")));
    await client.got("error", 2);
    expect(client.events).toMatchObject([{ error: { event_id: "bad" } }, { error: { code: "request_blocked" } }]);
  });

  it("or ends the session when another item has followed the refused one", async () => {
    const { client, upstream } = await openSession(guardedWorldOf(INPUT));
    const padding = created(message("x".repeat(2_000)), { event_id: "bad" });
    client.says(created(message("please sec")), padding, created(message("retword go")));
    await upstream.got("conversation.item.create", 3);
    upstream.says(refusalOf(upstream.events[1]));
    expect(await client.end()).toBe("content_policy_unavailable");
  });

  it("when another event with the id of its item was refused", async () => {
    const { client, upstream } = await openSession(guardedWorldOf(INPUT));
    const other = { type: "session.update", event_id: "e", session: { bogus: 1 } };
    client.says(created(message("please sec"), { event_id: "e" }), other);
    await upstream.got("session.update");
    upstream.says(refusalOf(upstream.events[1]));
    await client.got("error");
    client.says(created(message("retword go")));
    await client.got("error", 2);
    expect(client.events).toMatchObject([{ error: { event_id: "e" } }, { error: { code: "request_blocked" } }]);
  });

  it("or ends the session when the upstream does not say which event it refuses", async () => {
    const { client, upstream } = await openSession(guardedWorldOf(INPUT));
    client.says(created(message("please sec")), created(message("x".repeat(2_000))));
    await upstream.got("conversation.item.create", 2);
    upstream.says(refusalOf({}));
    expect(await client.end()).toBe("content_policy_unavailable");
  });

  it("when a spoken item is retrieved between them", async () => {
    const { client, upstream } = await openSession(guardedWorldOf(INPUT));
    const transcript = "hello there ".repeat(200);
    const item = { id: "spoken", type: "message", role: "user", content: [{ type: "input_audio", transcript }] };
    const type = "conversation.item.input_audio_transcription.completed";
    upstream.says({ type, item_id: "spoken", content_index: 0, transcript });
    await client.got(type);
    client.says(created(message("please sec")));
    await upstream.got("conversation.item.create");
    upstream.says({ type: "conversation.item.retrieved", item }, { type: "conversation.item.done", item });
    await client.got("conversation.item.done");
    client.says(created(message("retword go")));
    await client.got("error");
    expect(client.events.at(-1)).toMatchObject({ error: { code: "request_blocked" } });
  });
});

describe("an item is read as the Responses API reads it", () => {
  it("so that an assistant's text passes, and a tool's result is replaced", async () => {
    const events = [created(message("secretword", "assistant")), created(result("secretword"))];
    const { upstream, ...rest } = await said(INPUT, events);
    expect(rest).toEqual({ passed: 2, codes: [], params: [] });
    expect(upstream.events[1]).toMatchObject({ item: { output: "error: blocked by content policy" } });
  });

  it("also as the input of a response", async () => {
    const input = [message("secretword", "assistant"), result("secretword")];
    const { passed, upstream } = await said(INPUT, [{ type: "response.create", response: { input } }]);
    expect({ passed, sent: upstream.events }).toMatchObject({
      passed: 1,
      sent: [{ response: { input: [{}, { output: "error: blocked by content policy" }] } }],
    });
  });
});

describe("an event that puts texts in another order", () => {
  const before = created({ ...message("one"), id: "item_1" });
  const reference = { type: "response.create", response: { input: [{ type: "item_reference", id: "item_1" }] } };

  it.each([
    ["previous_item_id", created(message("two"), { previous_item_id: "root" })],
    ["previous_item_id", created(message("two"), { previous_item_id: "item_1" })],
    ["type", { type: "conversation.item.delete", item_id: "item_1" }],
    ["item", { type: "response.create", item: message("two") }],
    ["item", { type: "conversation.item.update", item: message("two") }],
    ["response.input", reference],
    ["response.input", { type: "response.create", response: { input: [{ id: "item_1" }] } }],
  ])("is refused with its field under a policy: %s", async (param, event) => {
    expect(await said(INPUT, [before, event])).toMatchObject({
      passed: 1,
      codes: ["validation_failed"],
      params: [param],
    });
  });

  it("passes where it changes no order, or nothing is kept from the model", async () => {
    const behind = created(message("two"), { previous_item_id: null });
    const first = created(message("three"), { previous_item_id: "root" });
    const deleted = { type: "conversation.item.delete", item_id: "item_1" };
    const free = await said(null, [before, first, reference, deleted]);
    const logged = await said({ ...INPUT, action: "log_only" }, [before, first, reference, deleted]);
    const guarded = await said(INPUT, [before, behind]);
    expect([free, logged, guarded].map(({ passed }) => passed)).toEqual([4, 4, 2]);
  });
});
