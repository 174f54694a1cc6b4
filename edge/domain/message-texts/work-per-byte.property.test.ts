/**
 * The reported work of guardrails grows only with the bytes of a document: long names above many strings do not multiply. Units
 * are counted, never timed.
 *
 * @module-tag long
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { toldBy } from "../../../test/harness/edge/told-by.ts";
import { routeClassOf } from "../request/route-class.ts";
import { CollectedTexts } from "./collected-texts.ts";
import { RedactingEvents, redactDocument } from "./redacting-events.ts";
import { guardedTexts } from "./request-texts.ts";
import { RedactionTally } from "./text-redaction.ts";
import { textScopeOf } from "./text-scopes.ts";

/** Far more than the names above them. */
const COUNT = 20_000;
const UNITS_PER_BYTE = 40;
/** An element of a list is looked at by its place, and scanned. */
const ANSWER_UNITS_PER_BYTE = 100;

const scan = compileScan({ scanners: ["ban_keywords"], banKeywords: ["falcon"] });
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Many small values below names, some of which are long. */
const document = fc
  .record({
    member: fc.constantFrom("messages", "tools", "input", "zz", "metadata", "choices", "output"),
    names: fc.array(
      fc.oneof(
        fc
          .record({ unit: fc.constantFrom("n", "\u0001", "\u00e4"), length: fc.integer({ min: 30, max: 70 }) })
          .map(({ unit, length }) => unit.repeat(length)),
        fc.constantFrom("content", "arguments", "text", "delta", "parameters", ""),
      ),
      { maxLength: 70 },
    ),
    isListed: fc.boolean(),
    one: fc.constantFrom(
      '"a"',
      '["a"]',
      '{"text":"a"}',
      '[{"text":"a"}]',
      '{"signature":"x"}',
      '{"type":"mcp"}',
      '{"a":"b"}',
      "1",
      "[1]",
    ),
  })
  .map(({ member, names, isListed, one }) => {
    const open = names.map((name) => (name === "" ? "[" : `{${JSON.stringify(name)}:`)).join("");
    const close = names.map((name) => (name === "" ? "]" : "}")).reverse();
    const value = `${open}[${`${one},`.repeat(COUNT)}${one}]${close.join("")}`;
    return `{${JSON.stringify(member)}:${isListed ? `[{"role":"user","content":${value}}]` : value}}`;
  });

it("of a request is bounded for each byte", () => {
  fc.assert(
    fc.property(
      document,
      fc.constantFrom("/v1/chat/completions", "/v1/responses", "/v1/anything"),
      fc.boolean(),
      (json, path, ofModel) => {
        const body = bytesOf(json);
        const { units } = toldBy(guardedTexts([body], textScopeOf(path, routeClassOf(path)), ofModel));
        expect(units / body.byteLength).toBeLessThanOrEqual(UNITS_PER_BYTE);
      },
    ),
    { numRuns: 60 },
  );
});

it("of an answer that is held is bounded for each byte", () => {
  fc.assert(
    fc.property(document, (json) => {
      const texts = new CollectedTexts();
      const { units } = toldBy(texts.document(json));
      const joined = toldBy(texts.texts()).units;
      expect((units + joined) / json.length).toBeLessThanOrEqual(ANSWER_UNITS_PER_BYTE);
    }),
    { numRuns: 30 },
  );
});

it("of a redacted document is hardly more with long names above its texts", () => {
  const unitsOf = (depth: number): number => {
    let value: unknown = Array.from({ length: COUNT }, () => [{ text: "a" }]);
    for (let at = 0; at < depth; at += 1) value = { ["\u0001".repeat(64)]: value };
    const json = JSON.stringify({ content: "a falcon", zz: value });
    return toldBy(redactDocument(scan, new RedactionTally(), json)).units / json.length;
  };
  const units = { short: unitsOf(1), long: unitsOf(12) };
  expect({ units, isHardlyMore: units.long <= 1.5 * units.short }).toEqual({ units, isHardlyMore: true });
});

it("of an event of a redacted stream is bounded for each byte", () => {
  fc.assert(
    fc.property(document, (json) => {
      const event = bytesOf(`data: ${json}\n\n`);
      const { units } = toldBy(new RedactingEvents(scan, new RedactionTally()).event(event));
      expect(units / event.byteLength).toBeLessThanOrEqual(ANSWER_UNITS_PER_BYTE);
    }),
    { numRuns: 15 },
  );
});
