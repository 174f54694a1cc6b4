/**
 * Keys made of the places of texts are far longer than the text of a body for each place: they are kept only where they are
 * needed, and count as memory. Characters and units are counted, never timed.
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce } from "../../../shared/steps.ts";
import { toldBy } from "../../../test/harness/edge/told-by.ts";
import { watchedCalls } from "../../../test/harness/edge/watched-calls.ts";
import { routeClassOf } from "../request/route-class.ts";
import { RedactingEvents, redactDocument } from "./redacting-events.ts";
import { guardedTexts } from "./request-texts.ts";
import { RedactionTally } from "./text-redaction.ts";
import { textScopeOf } from "./text-scopes.ts";

const KEPT = [
  [Map.prototype, "set"],
  [Set.prototype, "add"],
] as const;

/** The characters of the different keys that maps and sets get meanwhile. */
function keptBy(work: () => unknown): number {
  const keys: string[] = [];
  const seen = (_: unknown, key: unknown): void => {
    if (typeof key === "string") keys.push(key);
  };
  watchedCalls(KEPT, seen, work);
  return [...new Set(keys)].reduce((sum, { length }) => sum + length, 0);
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const CHAT = "/v1/chat/completions";
const RESPONSES = "/v1/responses";
const guarded = (body: unknown, path = CHAT) =>
  guardedTexts([bytesOf(JSON.stringify(body))], textScopeOf(path, routeClassOf(path)), true);

/** The value below names that are as long as they can be when they are escaped. */
function below(depth: number, inner: unknown): unknown {
  let value = inner;
  for (let at = 0; at < depth; at += 1) value = { ["\u0001".repeat(40)]: value };
  return value;
}

const COUNT = 2_000;
const many = <T>(value: T, count = COUNT): readonly T[] => Array<T>(count).fill(value);

describe("keys of a request's places", () => {
  it.each([
    ["signatures of a member that is no message", { zz: below(55, many({ signature: "x" })) }],
    ["signatures deep in a message", { messages: [{ content: below(55, many({ signature: "x" })) }] }],
    ["strings that are no parts of a text", { messages: [{ content: [{ x: below(55, many("a b")) }] }] }],
    ["parts that are deeper than those of a text", { zz: below(55, many([{ text: "a b" }])) }],
    ["parts of texts", { messages: [{ content: below(10, many([{ text: "a b" }])) }] }],
    ["tools", { tools: many({ type: "mcp", ["\u0001".repeat(40)]: "a b" }) }],
  ])("are not kept for %s", (_, body) => {
    const kept = keptBy(() => atOnce(guarded(body)));
    expect({ kept, isLittle: kept < 20 * COUNT }).toEqual({ kept, isLittle: true });
  });

  it("count among the strings that are looked at", () => {
    const signed = (count: number) => atOnce(guarded({ input: many({ signature: "x" }, count) }, RESPONSES)).isWhole;
    const labels = (count: number) => atOnce(guarded({ messages: many({ role: 1 }, count) })).isWhole;
    expect({
      signatures: signed(200_000),
      tooManySignatures: signed(270_000),
      labels: labels(200_000),
      tooManyLabels: labels(270_000),
    }).toEqual({ signatures: true, tooManySignatures: false, labels: true, tooManyLabels: false });
  });
});

describe("keys of an answer's places", () => {
  const scan = compileScan({ scanners: ["ban_keywords"], banKeywords: ["falcon"] });
  const answer = { type: "x", content: "a falcon", zz: below(5, many([{ text: "a" }])) };

  it("are memory that is taken for a document", () => {
    let taken = 0;
    const take = (bytes: number): void => {
      taken += bytes;
    };
    const lines = [answer, answer].map((line) => JSON.stringify(line)).join("\n");
    const takenBy = (text: string) => {
      taken = 0;
      const kept = keptBy(() =>
        atOnce(redactDocument(scan, new RedactionTally(), text, { units: Number.POSITIVE_INFINITY }, take)),
      );
      return { kept, isTaken: kept > 1_000 * COUNT && taken >= kept };
    };
    const found = { document: takenBy(JSON.stringify(answer)), lines: takenBy(lines) };
    expect(found).toEqual({
      document: { kept: found.document.kept, isTaken: true },
      lines: { kept: found.lines.kept, isTaken: true },
    });
  });

  it("are memory that is taken for an event of a stream, and given back after it", () => {
    const event = bytesOf(`data: ${JSON.stringify(answer)}\n\n`);
    let taken = 0;
    const events = new RedactingEvents(scan, new RedactionTally(), (bytes) => {
      taken += bytes;
      return true;
    });
    const kept = keptBy(() => atOnce(events.event(event)));
    const little = new RedactingEvents(scan, new RedactionTally(), (bytes) => bytes < 1_000);
    expect({ kept, isTaken: kept > 1_000 * COUNT && taken >= kept, after: events.bytes }).toEqual({
      kept,
      isTaken: true,
      after: 0,
    });
    expect(() => atOnce(little.event(event))).toThrow("no room for the texts of an answer");
  });

  it("are not looked at with an event that ends no text", () => {
    const events = new RedactingEvents(scan, new RedactionTally());
    const choices = Array.from({ length: COUNT }, (_, index) => ({ index, delta: { content: "a fal" } }));
    atOnce(events.event(bytesOf(`data: ${JSON.stringify({ choices })}\n\n`)));
    const { units } = toldBy(events.event(bytesOf('data: {"a":1}\n\n')));
    expect({ units, isLittle: units < COUNT }).toEqual({ units, isLittle: true });
  });
});
