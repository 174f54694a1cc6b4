import { expect, it } from "vitest";
import { upstreamRetryAfterMs } from "./retry-after.ts";

const NOW_MS = Date.parse("2026-11-21T08:00:00Z");

it.each([
  [{}, null],
  [{ "retry-after": "3" }, 3000],
  [{ "retry-after": " 0.5 " }, 500],
  [{ "retry-after": "9", "retry-after-ms": "250" }, 250],
  [{ "retry-after": "9", "retry-after-ms": "soon" }, 9000],
  [{ "retry-after": "Sat, 21 Nov 2026 08:00:02 GMT" }, 2000],
  [{ "retry-after": "Sat, 21 Nov 2026 07:00:00 GMT" }, 0],
  [{ "retry-after": "-3" }, null],
  [{ "retry-after": "" }, null],
  [{ "retry-after": "soon" }, null],
])("%j is %s ms", (headers, expected) => {
  expect(upstreamRetryAfterMs(new Headers(headers as Record<string, string>), NOW_MS)).toBe(expected);
});
