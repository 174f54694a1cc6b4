import { expect, test } from "vitest";
import { compileScan } from "../../shared/guardrails/text-scan.ts";
import { BENCH_KEYWORDS, proseOf } from "./prose.ts";

test("the bench's text has the requested length, is plain and triggers no guardrail", () => {
  const text = proseOf(5000);
  expect({ length: text.length, jsonBytes: Buffer.byteLength(JSON.stringify(text)) }).toEqual({
    length: 5000,
    jsonBytes: 5002,
  });
  const scan = compileScan({ scanners: ["prompt_injection", "pii", "ban_keywords"], banKeywords: BENCH_KEYWORDS });
  expect(scan.scanTexts([{ text, user: true }])).toEqual([]);
});
