/**
 * The memory of texts that grow piece by piece while they are examined (docs/rules/request-bodies.md#work). Bytes and pieces are
 * counted, never timed.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import type { Steps } from "../../../shared/steps.ts";
import { watchedCalls } from "../../../test/harness/edge/watched-calls.ts";
import { redactText } from "./redacted-texts.ts";
import { RedactingEvents } from "./redacting-events.ts";
import { RedactionTally, unescaped } from "./text-redaction.ts";

const LENGTH = 1024 * 1024;
const BYTES_PER_CHARACTER = 8;
/** The heap is measured after so many units of work. */
const UNITS = 1024 * 1024;
const JOINED_MAX = 4_096;

const scan = compileScan({ scanners: ["pii", "ban_keywords"], banKeywords: ["falcon"] });

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** The most that the work holds, and the most pieces that it joins at once. */
function heldBy(work: Steps<unknown>): { readonly bytes: number; readonly joined: number } {
  const began = heapBytes();
  let [bytes, joined] = [0, 0];
  const seen = (of: unknown): void => {
    joined = Math.max(joined, (of as readonly unknown[]).length);
  };
  watchedCalls([[Array.prototype, "join"]], seen, () => {
    let units = 0;
    for (let step = work.next(); step.done !== true; step = work.next()) {
      units += step.value;
      if (units < UNITS) continue;
      bytes = Math.max(bytes, heapBytes() - began);
      units = 0;
    }
  });
  return { bytes, joined };
}

const redacted = (text: string): Steps<unknown> =>
  redactText(scan, new RedactionTally(), { text, json: true }, { units: Number.POSITIVE_INFINITY });

function streamed(text: string): Steps<unknown> {
  const call = { index: 0, function: { arguments: text } };
  const data = JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [call] } }] });
  return new RedactingEvents(scan, new RedactionTally()).event(new TextEncoder().encode(`data: ${data}\n\n`));
}

it.each<[string, (text: string) => Steps<unknown>, string]>([
  ["redacted commas", redacted, `[${",".repeat(LENGTH)}`],
  ["redacted numbers", redacted, `[${"1,".repeat(LENGTH / 2)}`],
  ["redacted strings", redacted, `[${'"",'.repeat(LENGTH / 3)}`],
  ["commas of a stream", streamed, `[${",".repeat(LENGTH)}`],
  ["escapes that are undone", unescaped, "\\n".repeat(LENGTH / 2)],
  ["escapes of text that is no JSON", redacted, `[${"\\n".repeat(LENGTH / 2)}`],
])("that is held for %s is a few bytes for each character", (_, read, text) => {
  const held = heldBy(read(text));
  expect({ held, isLittle: held.bytes <= LENGTH * BYTES_PER_CHARACTER && held.joined <= JOINED_MAX }).toEqual({
    held,
    isLittle: true,
  });
});
