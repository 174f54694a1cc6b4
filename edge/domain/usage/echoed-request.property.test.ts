/**
 * Upstreams repeat parts of the request in their answers. JSON that a client puts there is never a report of the upstream: an
 * answer is not billed less because of it, whether it is read whole or left in the middle
 * (docs/rules/settlement-and-rows.md#what-was-seen).
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NO_PART_PRICES } from "../../../shared/money/cost.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { bill } from "./billing.ts";
import { type SeenUsage, UsageScan } from "./usage-scan.ts";

const encoder = new TextEncoder();
const COUNTS =
  '{"input_tokens":0,"prompt_tokens":0,"output_tokens":0,"completion_tokens":0,"duration":9,"cache_read_input_tokens":9}';
const NAMES = [
  "usage",
  String.raw`us\u0061ge`,
  "response",
  "message",
  "choices",
  "x_groq",
  "meta",
  "tokens",
  "type",
  "finish_reason",
  "output_tokens",
  "input_tokens",
  "input_tokens_details",
  "output_tokens_details",
  "cached_tokens",
  "reasoning_tokens",
  "seconds",
];
const LEAVES = [
  COUNTS,
  "0",
  "[]",
  "null",
  '"response.completed"',
  '"stop"',
  JSON.stringify(`"usage":${COUNTS}}}`),
  '"\\\\"',
];

/** Texts of JSON; names may repeat within an object. */
const { echo } = fc.letrec<{ echo: string; object: string }>((tie) => ({
  echo: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.constantFrom(...LEAVES),
    tie("object"),
    fc.array(tie("echo"), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
    fc.json({ maxDepth: 2 }),
  ),
  object: fc
    .array(fc.tuple(fc.constantFrom(...NAMES), tie("echo")), { maxLength: 4 })
    .map((members) => `{${members.map(([name, value]) => `"${name}":${value}`).join(",")}}`),
}));

const WORDS = ["one ", "two ", "three "];
const event = (json: string): string => `data: ${json}\n\n`;

/** Answers with an echo in each of their places, and a report of 7 and 6 at their end. */
const answers: Readonly<Record<string, (echo: string) => string>> = {
  "a whole response": (value) =>
    `{"text":${value},"output":[{"content":[{"type":"output_text","text":"one two"}]}],"tools":[{"parameters":${value}}],"metadata":${value},"usage":{"input_tokens":9,"input_tokens":7,"input_tokens_details":{"cached_tokens":4},"output_tokens":6},"user":${value}}`,
  "a stream of a response": (value) =>
    [
      event(`{"type":"response.created","response":{"text":${value},"tools":[${value}],"usage":null}}`),
      ...WORDS.map((delta) => event(JSON.stringify({ type: "response.output_text.delta", delta }))),
      event(
        `{"type":"response.completed","response":{"text":${value},"tools":[{"parameters":${value}}],"usage":{"input_tokens":7,"output_tokens":8,"output_tokens":6,"input_tokens_details":{"cached_tokens":4}},"metadata":${value}}}`,
      ),
    ].join(""),
  "a stream of chat": (value) =>
    [
      ...WORDS.map((content) =>
        event(`{"request":${value},"choices":[{"delta":{"content":"${content}","x":${value}}}]}`),
      ),
      event(
        `{"prompt":[${value}],"choices":[],"usage":{"prompt_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens":6}}`,
      ),
      "data: [DONE]\n\n",
    ].join(""),
};

/** The facts of an answer that came in these pieces. */
function seen(pieces: readonly Uint8Array[], content = true): SeenUsage {
  const scan = new UsageScan({ content });
  for (const piece of pieces) scan.push(piece);
  return scan.usage();
}

describe.each(Object.entries(answers))("an echo of the request in %s", (_, answerWith) => {
  const model = {
    hidden_reasoning: false,
    prices: {
      input: 1,
      output: 1,
      image: 0,
      character: 0,
      audio_second: 0,
      ...NO_PART_PRICES,
      input_second: 0,
    },
  };
  const estimate = { inputTokens: 50, outputTokens: 100, totalTokens: 150, statedOutputTokens: 100, answers: 1 };
  const parts = { cachedTokens: 4, reasoningTokens: 0, inputSeconds: 0 };
  const whole = { reported: { inputTokens: 7, outputTokens: 6 }, parts, upToDate: true, final: true };

  it("changes nothing of what it reports at its end", () => {
    fc.assert(
      fc.property(echo, fc.boolean(), (value, content) => {
        expect(seen([encoder.encode(answerWith(value))], content)).toMatchObject(whole);
      }),
    );
  });

  it("left at any byte owes at least the estimate before the report, and the report after it", () => {
    fc.assert(
      fc.property(echo, (value) => {
        const bytes = encoder.encode(answerWith(value));
        const scan = new UsageScan({ content: true });
        for (let at = 0; at < bytes.byteLength; at += 1) {
          scan.push(bytes.subarray(at, at + 1));
          const usage = scan.usage();
          const answered = { usage, complete: false, stream: false };
          const { inputTokens, outputTokens } = bill(model, estimate, { kind: "tokens" }, answered);
          if (usage.final) expect({ inputTokens, outputTokens }).toEqual({ inputTokens: 7, outputTokens: 6 });
          else
            expect({ inputTokens: Math.min(inputTokens, 50), outputTokens: Math.min(outputTokens, 100) }).toEqual({
              inputTokens: 50,
              outputTokens: 100,
            });
        }
        expect(scan.usage()).toMatchObject(whole);
      }),
      { numRuns: propertyRuns(40) },
    );
  });

  it("is read the same when it is cut in two at any byte", () => {
    fc.assert(
      fc.property(echo, (value) => {
        const bytes = encoder.encode(answerWith(value));
        const uncut = seen([bytes]);
        for (let at = 1; at < bytes.byteLength; at += 1)
          expect(seen([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(uncut);
      }),
      { numRuns: propertyRuns(10) },
    );
  });
});
