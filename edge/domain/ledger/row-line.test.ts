/** The line of a row: the analytics store can read it, for any texts and numbers in the row. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { type UsageRow, zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { endedMs, storedRowLine, usageRowLine } from "./row-line.ts";

it("is one line of text that UTF-8 can carry, with every number a number", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "\n", '"', "\\", "\u0000", "\ud800", "\udfff", "🙂") }),
      fc.double(),
      (text, number) => {
        const row = { ...zeroUsageRow("00000000-0000-0000-0000-000000000001", 0), model: text, cost_usd: number };
        const { json, bytes } = usageRowLine(row);
        const read = JSON.parse(json) as { readonly model: string; readonly cost_usd: unknown };
        expect({ hasLineBreak: json.includes("\n"), bytes }).toEqual({
          hasLineBreak: false,
          bytes: new TextEncoder().encode(json).byteLength,
        });
        expect({ model: read.model, costType: typeof read.cost_usd }).toEqual({
          model: text.toWellFormed(),
          costType: "number",
        });
      },
    ),
  );
});

it("marks a refusal, when it is made and when it is read again, whatever its texts say", () => {
  const text = '"admission":"rejected"';
  for (const admission of ["fast", "queued", "rejected", "boon"] as const) {
    const line = usageRowLine({ ...zeroUsageRow("", 0), admission, model: text, session_id: `\\${text}` });
    expect(line.refusal).toBe(admission === "rejected");
    expect(storedRowLine(line.json, line.bytes)).toEqual(line);
  }
});

it("says when its request ended", () => {
  const { json } = usageRowLine({ ...zeroUsageRow("", 1_700_000_000_123), model: '"ts":"1970-01-01 00:00:00.000"' });
  expect({ ended: endedMs(json), ofAnother: endedMs("{}") }).toEqual({ ended: 1_700_000_000_123, ofAnother: 0 });
});

it("has the zero of each field that an older Worker does not know", () => {
  const { error_code: _, attempts: __, ...known } = zeroUsageRow("00000000-0000-0000-0000-000000000001", 0);
  expect(JSON.parse(usageRowLine(known as UsageRow).json)).toMatchObject({ error_code: "", attempts: 0 });
});
