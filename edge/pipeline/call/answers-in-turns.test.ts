/**
 * No reader of an answer, and no boon, does much between two of its steps (docs/rules/request-bodies.md#work), whatever JSON it
 * gets. Steps are counted, never timed.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import type { Steps } from "../../../shared/steps.ts";
import { BYTES_PER_UNIT, element, manyOf, STEP_MAX, toldBy } from "../../../test/harness/edge/told-by.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { validateJsonSchema } from "../../adapters/json-schema.ts";
import { checkText } from "../../domain/json-schema/check-value.ts";
import { CollectedTexts } from "../../domain/message-texts/collected-texts.ts";
import { RedactingEvents, redactDocument } from "../../domain/message-texts/redacting-events.ts";
import { RedactionTally } from "../../domain/message-texts/text-redaction.ts";
import { compressMessages } from "../../domain/prompts/compress.ts";
import { isRewritable } from "../../domain/prompts/message-texts.ts";
import { requestTraits } from "../../domain/request/model-choice/request-traits.ts";
import { estimateTokens } from "../../domain/request/token-estimate.ts";
import { StreamComposer } from "../../domain/tools/stream-composer.ts";
import { wholeDocument } from "../../domain/wire/json/document.ts";
import { parsedInSteps } from "../../domain/wire/json/parse-in-steps.ts";
import { writtenInSteps } from "../../domain/wire/json/write-in-steps.ts";
import { SseFilter } from "../../domain/wire/sse/sse-filter.ts";
import { synthesizeStream } from "../../domain/wire/sse/synthesize-stream.ts";

const scan = compileScan({ scanners: ["pii", "ban_keywords"], banKeywords: ["a b", "falcon"] });
const eventOf = (data: string): Uint8Array => new TextEncoder().encode(`data: ${data}\n\n`);
const SCHEMA = { type: "object", properties: { messages: { type: "array", items: { type: "object" } } } };

/** The most of one step: the end of a string of an answer is looked for at once, which takes a unit for 4 bytes. */
const mostOf = (json: string): number => STEP_MAX + new TextEncoder().encode(json).byteLength / 4;

const readers: Readonly<Record<string, (json: string) => Steps<unknown>>> = {
  parse: parsedInSteps,
  write: (json) => writtenInSteps(JSON.parse(json)),
  "collect a document": function* (json) {
    const texts = new CollectedTexts();
    yield* texts.document(json);
    yield* texts.texts();
  },
  "collect arguments": function* (json) {
    const texts = new CollectedTexts();
    yield* texts.document(
      JSON.stringify({ choices: [{ message: { tool_calls: [{ function: { arguments: json } }] } }] }),
    );
    yield* texts.texts();
  },
  "collect an event": (json) => new SseFilter([new CollectedTexts()], true).pushing(eventOf(json)),
  "redact a document": (json) => redactDocument(scan, new RedactionTally(), json),
  "redact an event": (json) =>
    new SseFilter([new RedactingEvents(scan, new RedactionTally())], true).pushing(eventOf(json)),
  "check a text": (json) => checkText(json, { schema: SCHEMA, json: JSON.stringify(SCHEMA) }, validateJsonSchema),
  "make a stream": (json) => synthesizeStream({ choices: [{ message: JSON.parse(json) }] }, { includeUsage: true }),
  "compose a stream": (json) =>
    new StreamComposer({ owned: new Set(), usageAsked: false, turnMaxCharacters: 1024 * 1024 }).take(
      JSON.stringify({ choices: [{ index: 0, delta: JSON.parse(json) }] }),
    ),
};

describe("a reader of answers", () => {
  it.each(Object.entries(readers))("tells how far it is, whatever the JSON: %s", (_, read) => {
    fc.assert(
      fc.property(
        element,
        fc.constantFrom("messages", "content", "choices", "output"),
        fc.boolean(),
        (one, name, named) => {
          const json = manyOf(one, name, named);
          const { largest, units } = toldBy(read(json));
          const told = {
            one,
            name,
            largest,
            isBounded: largest <= mostOf(json),
            isTold: units >= json.length / BYTES_PER_UNIT,
          };
          expect(told).toEqual({ one, name, largest, isBounded: true, isTold: true });
        },
      ),
      { numRuns: propertyRuns(20) },
    );
  });

  it.each<[string, string]>([
    ["one long text", JSON.stringify({ choices: [{ message: { content: "a b ".repeat(200_000) } }] })],
    ["U+FDFA", JSON.stringify({ choices: [{ delta: { content: "\ufdfa".repeat(200_000) } }] })],
    ["escapes", `{"choices":[{"delta":{"content":"${"\\u0041\\n".repeat(100_000)}"}}]}`],
    ["lines of data", `{\n${"data: 1\n".repeat(100_000)}`],
    ["brackets", "[".repeat(400_000)],
    ["blanks", " ".repeat(400_000)],
  ])("does little at once with %s", (_, text) => {
    const largest = Object.entries(readers)
      .filter(([name]) => !/write|make|compose/.test(name))
      .map(([name, read]): [string, boolean] => [name, toldBy(read(text)).largest <= mostOf(text)]);
    expect(largest.filter(([, isBounded]) => !isBounded)).toEqual([]);
  });
});

describe("a reader of messages", () => {
  it("tells how far it is in very many parts", () => {
    const content = Array.from({ length: 200_000 }, () => ({ type: "text", text: "a" }));
    const root = { messages: [{ role: "user", content }] };
    const document = wholeDocument(root);
    for (const work of [
      requestTraits(document, {
        inputTokens: 1,
        outputTokens: 1,
        totalTokens: 2,
        statedOutputTokens: null,
        answers: 1,
      }),
      estimateTokens("messages", wholeDocument({ messages: [], parameters: content })),
      isRewritable(content),
    ]) {
      const { largest, units } = toldBy(work);
      expect({ isBounded: largest <= STEP_MAX, isTold: units >= content.length }).toEqual({
        isBounded: true,
        isTold: true,
      });
    }
  });
});

const LIMITS = { minTokens: 10, maxBlocks: 256, maxLossyBlocks: 64, keepRatio: 0.5 };

describe("compression", () => {
  it.each<[string, string]>([
    ["objects", `[${Array.from({ length: 20_000 }, () => '{"a":1,"b":"x"}').join(",")}]`],
    ["names", `{${Array.from({ length: 20_000 }, (_, at) => `"n${at}":1`).join(",")}}`],
    ["values that are none", "[[[[[1\n".repeat(50_000)],
    ["lines of JSON", '{"a":1,"b":[1,2,{"c":"d"}]}\n'.repeat(10_000)],
    ["blank lines", "\n".repeat(400_000)],
    ["fences", "```js\nx\n```\n".repeat(30_000)],
    ["a log", "2024-01-01 10:00:00 INFO something 12345 happened abcdef012345\n".repeat(6_000)],
    ["code", "const a = { b: 1 };   \n".repeat(20_000)],
    ["sentences", "This is a sentence about flowers. ".repeat(10_000)],
    ["points", ". ".repeat(200_000)],
  ])("tells how far it is in a text of %s", async (_, text) => {
    let [largest, units] = [0, 0];
    const inTurns = async <T>(work: Steps<T>): Promise<T> => {
      for (let step = work.next(); ; step = work.next()) {
        if (step.done === true) return step.value;
        largest = Math.max(largest, step.value);
        units += step.value;
      }
    };
    const messages = [
      { role: "user", content: text },
      { role: "user", content: "about flowers" },
    ];
    const steps = { inTurns, code: true, keepOriginals: async () => true, lossy: { score: null } };
    await compressMessages(messages, LIMITS, steps);
    expect({ largest, isBounded: largest <= STEP_MAX, isTold: units >= text.length / BYTES_PER_UNIT }).toEqual({
      largest,
      isBounded: true,
      isTold: true,
    });
  });
});
