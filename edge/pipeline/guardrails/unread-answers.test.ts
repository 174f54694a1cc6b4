/** Answers that are JSON for their readers, and not for the gateway (docs/rules/guardrails.md#how-much-is-read). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  guardedAnswerOf as answerOf,
  guardedChatBody as chatBody,
  guardedWorldOf as worldOf,
} from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const JSON_TYPE = "application/json";
const EVENTS = "text/event-stream";
const eventOf = (content: string) =>
  `data: {"choices":[{"index":0,"delta":{"content":"${content}"},"logprob":-Infinity}]}\n\n`;
const wholeOf = (content: string) => `{"choices":[{"message":{"content":"${content}"},"logprob":-Infinity}]}`;
const HIDDEN = String.raw`hello\nbl\u0075e falcon`;

async function answered(
  policy: object,
  body: string,
  type: string,
  more: Record<string, unknown> = {},
): Promise<{ status: number; text: string }> {
  const world = worldOf({ output_scanners: ["ban_keywords"], ban_keywords: ["blue falcon"], ...policy });
  world.upstream = async () => new Response(body, { headers: { "content-type": type } });
  return await answerOf(world, { body: chatBody("hi", more) });
}
const gotOf = async (...given: Parameters<typeof answered>) => (await answered(...given)).text;
const statusOf = async (...given: Parameters<typeof answered>) => (await answered(...given)).status;

describe("an answer that only others can read, however short", () => {
  it.each([
    ["a document", wholeOf("hello"), JSON_TYPE],
    ["a list", `[NaN,"hello"]`, JSON_TYPE],
    ["an event", eventOf("hello"), EVENTS],
    ["a keyword in two events", eventOf("a blue") + eventOf(" falcon"), EVENTS],
    ["an index in quotes", `data: {"choices":[{"index":"0","delta":{"content":"hello"}}]}\n\n`, EVENTS],
  ])("passes only if the policy fails open: %s", async (_, body, type) => {
    const block = { action: "block" };
    expect({
      open: await statusOf({ ...block, fail_open: true }, body, type),
      closed: await statusOf({ ...block, fail_open: false }, body, type),
    }).toEqual({ open: 200, closed: 503 });
  });

  it.each([
    ["a document", wholeOf(HIDDEN), JSON_TYPE],
    ["an event", eventOf(HIDDEN), EVENTS],
  ])("is examined with its escapes undone: %s", async (_, body, type) => {
    const status = await statusOf({ action: "block", fail_open: true }, body, type);
    const redacted = await gotOf({ action: "redact", fail_open: true }, body, type);
    expect({
      status,
      isLeft: redacted.includes("falcon"),
      isReplaced: redacted.includes(String.raw`hello\n[REDACTED]`),
    }).toEqual({ status: 400, isLeft: false, isReplaced: true });
  });

  it("breaks off a redacted stream, and passes if the policy fails open and nothing matches", async () => {
    const body = eventOf(String.raw`caf\u00e9`);
    const open = await gotOf({ action: "redact", fail_open: true }, body, EVENTS);
    const closed = await gotOf({ action: "redact", fail_open: false }, body, EVENTS);
    expect({
      isAsItCame: open.startsWith(body),
      isLeft: closed.includes("caf"),
      isBroken: closed.includes("upstream_stream_error"),
    }).toEqual({ isAsItCame: true, isLeft: false, isBroken: true });
  });

  it.each(["block", "redact"])("has more choices than its client has asked for: %s", async (action) => {
    const policy = { action, fail_open: false };
    const second = `data: {"choices":[{"index":1,"delta":{"content":"hello you"}}]}\n\n`;
    const isPassed = async (n: number) => (await gotOf(policy, second, EVENTS, { n })).includes("hello");
    expect({ one: await isPassed(1), two: await isPassed(2) }).toEqual({ one: false, two: true });
  });

  it("is not a transcript that begins with brackets", async () => {
    const policy = { action: "block", fail_open: false };
    const text = async (body: string) => await statusOf(policy, body, "text/plain");
    expect({ word: await text("[Music] la la"), time: await text("[00:00.000 --> 00:01.000] la, la") }).toEqual({
      word: 200,
      time: 200,
    });
  });
});
