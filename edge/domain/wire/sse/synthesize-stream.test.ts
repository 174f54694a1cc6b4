import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../../shared/steps.ts";
import { isCompleteStream } from "./stream-end.ts";
import { synthesizeStream as synthesized } from "./synthesize-stream.ts";

function synthesizeStream(...given: Parameters<typeof synthesized>): string | null {
  const bytes = atOnce(synthesized(...given));
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };

/** A completion with one choice. */
const completion = (message: object, choice: object = {}) => ({
  id: "x",
  object: "chat.completion",
  created: 7,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop", ...choice }],
  usage,
});

/** The JSON of every event except the last, which must be `[DONE]`. */
function eventsOf(text: string | null): Record<string, unknown>[] {
  const data = (text ?? "").split("\n\n").filter((event) => event !== "");
  expect(data.pop()).toBe("data: [DONE]");
  return data.map((event) => JSON.parse(event.slice("data: ".length)));
}

const choicesOf = (text: string | null) => eventsOf(text).flatMap(({ choices }) => choices as object[]);
const deltasOf = (text: string | null) => choicesOf(text).map((choice) => (choice as { delta: object }).delta);

describe("a completion as a stream", () => {
  it("has role, reasoning, content, tool calls, finish reason and usage, in this order", () => {
    const message = { content: "hi", reasoning_content: "hm", tool_calls: [call, call] };
    const text = synthesizeStream(completion(message, { finish_reason: "tool_calls" }), { includeUsage: true });
    const events = eventsOf(text);
    expect(deltasOf(text)).toEqual([
      { role: "assistant", content: "" },
      { reasoning_content: "hm" },
      { content: "hi" },
      { tool_calls: [{ ...call, index: 0 }] },
      { tool_calls: [{ ...call, index: 1 }] },
      {},
    ]);
    expect(choicesOf(text).at(-1)).toMatchObject({ index: 0, finish_reason: "tool_calls" });
    expect(events.at(-1)).toMatchObject({ choices: [], usage });
    for (const event of events) {
      expect(event).toMatchObject({ id: "x", created: 7, model: "m", object: "chat.completion.chunk" });
    }
    for (const event of events.slice(0, -1)) expect(event["usage"]).toBeNull();
  });

  it("has no usage if it was not asked for or does not exist", () => {
    for (const event of eventsOf(synthesizeStream(completion({ content: "a" }), { includeUsage: false }))) {
      expect(event).not.toHaveProperty("usage");
    }
    const without = synthesizeStream({ ...completion({ content: "a" }), usage: null }, { includeUsage: true });
    expect(eventsOf(without).at(-1)?.["choices"]).toHaveLength(1);
  });

  it("keeps every choice with its index, its log probabilities and what else its message has", () => {
    const logprobs = { content: [] };
    const two = [
      { index: 0, message: { content: "a", refusal: null, annotations: [1] }, logprobs, finish_reason: "length" },
      { index: 5, message: { role: "assistant", content: null, refusal: "no" }, finish_reason: null },
    ];
    expect(choicesOf(synthesizeStream({ choices: two }, { includeUsage: false }))).toEqual([
      { index: 0, delta: { role: "assistant", content: "", annotations: [1] }, finish_reason: null },
      { index: 0, delta: { content: "a" }, finish_reason: null, logprobs },
      { index: 0, delta: {}, finish_reason: "length" },
      { index: 5, delta: { role: "assistant", content: null, refusal: "no" }, finish_reason: null },
      { index: 5, delta: {}, finish_reason: "stop" },
    ]);
  });

  it.each([null, 1, "x", [], {}, { choices: {} }, { choices: [] }, { choices: [null, 1, {}, { message: [] }] }])(
    "of %j is null",
    (value) => {
      expect(synthesizeStream(value, { includeUsage: true })).toBeNull();
    },
  );

  it("says what the message says, whatever it is, and is complete", () => {
    const texts = fc.string({ unit: "binary", minLength: 1 });
    fc.assert(
      fc.property(texts, texts, (content, reasoning) => {
        const text = synthesizeStream(completion({ content, reasoning }), { includeUsage: false });
        expect(deltasOf(text).slice(1)).toEqual([{ reasoning }, { content }, {}]);
        expect(isCompleteStream(new TextEncoder().encode(text ?? ""))).toBe(true);
      }),
    );
  });

  it("takes any value of a hostile upstream", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.boolean(), (message, root, includeUsage) => {
        synthesizeStream(root, { includeUsage });
        synthesizeStream({ choices: [{ message }, message] }, { includeUsage });
      }),
    );
  });
});
