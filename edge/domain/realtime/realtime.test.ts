/** The rules of realtime sessions: close codes, events, and the input of the next response. */
import { describe, expect, it } from "vitest";
import { type ErrorCode, errorStatus } from "../../../shared/errors.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { closingOf, passedOn } from "./close-codes.ts";
import { ConversationTokens } from "./conversation-tokens.ts";
import { readContextOf } from "./read-context.ts";
import { eventOf, isTextless, outputLimitOf } from "./realtime-events.ts";

describe("a close", () => {
  it.each([
    ["api_key_disabled", 1008],
    ["tenant_budget_exhausted", 1008],
    ["request_too_large", 1009],
    ["realtime_session_idle", 1001],
    ["realtime_session_expired", 1001],
    ["gateway_stopping", 1012],
    ["scheduler_unavailable", 1013],
    ["realtime_backlog", 1013],
    ["token_budget_exceeded", 1013],
    ["upstream_stream_error", 1011],
  ] as const satisfies readonly (readonly [ErrorCode, number])[])(
    "for %s has the code %i, and names it",
    (code, closed) => {
      expect(closingOf({ code, status: errorStatus(code) })).toEqual({ code: closed, reason: code });
    },
  );

  it("is passed on with a code that may be sent, and a reason that fits", () => {
    const given = [1000, 4321, 1005, 1006, 1015, 5000].map((code) => passedOn({ code, reason: "r" }).code);
    expect({ given, long: passedOn({ code: 1000, reason: "é".repeat(62) }).reason }).toEqual({
      given: [1000, 4321, 1000, 1001, 1001, 1001],
      long: "",
    });
  });
});

describe("an event", () => {
  it("is an object with one type, whatever a server takes for it", () => {
    const events = [{ type: "a" }, { type: 1 }, [], null, { type: "a", Type: "response.create" }].map(eventOf);
    expect(events).toEqual([{ type: "a" }, null, null, null, null]);
  });

  it("is examined unless it has no text", () => {
    const types = [
      "input_audio_buffer.append",
      "response.cancel",
      "conversation.item.delete",
      "response.create",
      "new",
    ];
    expect(types.map((type) => isTextless({ type }))).toEqual([true, true, true, false, false]);
  });

  it("states its output as a number above 0", () => {
    const stated = [{ max_output_tokens: 9 }, { max_response_output_tokens: 8 }, null, { instructions: "x" }];
    expect(stated.map(outputLimitOf)).toEqual([9, 8, undefined, undefined]);
  });

  it("has no limit where it says so, by either name", () => {
    const both = { max_output_tokens: 9, max_response_output_tokens: 30 };
    const stated = [{ max_output_tokens: "inf" }, { max_output_tokens: null }, { ...both, max_output_tokens: "inf" }];
    expect([...stated, both].map(outputLimitOf)).toEqual([null, null, null, 30]);
  });
});

describe("what the next response will read", () => {
  it("is what was said until one has reported, and then the report and what was added", () => {
    const tokens = new ConversationTokens();
    tokens.configured({}, { instructions: 20, tools: 10 });
    tokens.said(5);
    const before = tokens.inputTokens;
    tokens.ended(tokens.begun(readContextOf(null), true), { inputTokens: 90 }, 10);
    const reported = tokens.inputTokens;
    tokens.said(7);
    expect({ before, reported, after: tokens.inputTokens }).toEqual({ before: 35, reported: 100, after: 107 });
  });

  it("counts once more what came shortly before a response that was not asked for", () => {
    const tokens = new ConversationTokens();
    const turn = (): void => tokens.ended(tokens.begun(readContextOf(null), false), { inputTokens: 100 }, 0);
    tokens.said(7);
    turn();
    const reported = tokens.inputTokens;
    turn();
    expect({ reported, later: tokens.inputTokens }).toEqual({ reported: 107, later: 100 });
  });

  it("has a token for 100 ms of audio, by its format", () => {
    const second = { pcm: 64_000, g711: 10_670 };
    const tokensOf = (session: JsonObject, characters: number): number => {
      const tokens = new ConversationTokens();
      tokens.configured(session, { instructions: 0, tools: 0 });
      tokens.heard(characters);
      return tokens.inputTokens;
    };
    expect({
      pcm: tokensOf({}, second.pcm),
      g711: [
        { audio: { input: { format: { type: "audio/pcmu" } } } },
        { audio: { output: { format: { type: "audio/pcma" } } } },
        { input_audio_format: "g711_ulaw" },
        { output_audio_format: "g711_alaw" },
      ].map((session) => tokensOf(session, second.g711)),
      instructions: tokensOf({ instructions: '"g711_ulaw"', tools: ["audio/pcmu"] }, second.pcm),
    }).toEqual({ pcm: 10, g711: [10, 10, 10, 10], instructions: 10 });
  });
});
