/** Streamed arguments of very many strings (docs/rules/request-bodies.md#work): work is counted, never timed. */
import { expect, it } from "vitest";
import { compileScan, type TextScan } from "../../../shared/guardrails/text-scan.ts";
import { STEP_MAX, toldBy } from "../../../test/harness/edge/told-by.ts";
import { RedactingEvents } from "./redacting-events.ts";
import { RedactionTally } from "./text-redaction.ts";

const scan = compileScan({ scanners: ["pii", "ban_keywords"], banKeywords: ["falcon"] });
const COUNT = 20_000;

it.each([
  ["strings", '["ab"', ',"ab"'],
  ["numbers", "[12", ",12"],
  ["strings of an escape", '["\\n"', ',"\\n"'],
])("arguments of many short %s are read by one scanner, and each is told", (_, first, next) => {
  let opened = 0;
  const counted: TextScan = Object.assign(Object.create(scan), {
    openStream: (counts: RedactionTally) => {
      opened += 1;
      return scan.openStream(counts);
    },
  });
  const events = new RedactingEvents(counted, new RedactionTally());
  const text = first + next.repeat(COUNT);
  const call = { index: 0, function: { arguments: text } };
  const data = JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [call] } }] });
  const { largest, units } = toldBy(events.event(new TextEncoder().encode(`data: ${data}\n\n`)));
  expect({ opened, isBounded: largest <= STEP_MAX, isTold: units >= COUNT * 64 }).toEqual({
    opened: 1,
    isBounded: true,
    isTold: true,
  });
});
