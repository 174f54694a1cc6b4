import { expect, it } from "vitest";
import { bucketsOf, type HealthRow, outcomeSums, serviceWindow } from "./service-window.ts";

const NOW = Date.parse("2026-11-23T10:20:00Z");
const HOUR_MS = 3_600_000;

it.each([
  [undefined, HOUR_MS / 4, "2026-11-22T10:15:00Z", null],
  ["7d", HOUR_MS, "2026-11-17T00:00:00Z", null],
  ["30d", 6 * HOUR_MS, "2026-10-25T00:00:00Z", null],
  ["90d", 12 * HOUR_MS, "2026-08-26T00:00:00Z", null],
  ["2026-11-01..2026-11-02", HOUR_MS / 4, "2026-11-01T00:00:00Z", "2026-11-02T23:59:59.999Z"],
  // a month is no window of this page
  ["month", HOUR_MS / 4, "2026-11-22T10:15:00Z", null],
])("shows %s in buckets of one width, from the start of one", (param, widthMs, from, until) => {
  const window = serviceWindow(param, "UTC", NOW);
  expect({ ...window, from: new Date(window.fromMs).toISOString() }).toMatchObject({
    widthMs,
    from: new Date(from).toISOString(),
    untilMs: until === null ? null : Date.parse(until),
  });
  const buckets = bucketsOf([], window);
  expect(buckets.length).toBeLessThanOrEqual(201);
  expect((buckets.at(-1)?.atMs ?? 0) + widthMs).toBe(window.toMs);
  // the bucket that runs now is the last one
  if (until === null) expect(window.toMs - widthMs).toBeLessThanOrEqual(NOW);
});

it("starts no bucket after a half-hour zone's day, and shows nothing of days to come", () => {
  const window = serviceWindow("7d", "Asia/Kolkata", NOW);
  expect(window.fromMs % window.widthMs).toBe(0);
  expect(window.toMs).toBe(Date.parse("2026-11-23T11:00:00Z"));
  expect(serviceWindow("2027-01-01..2027-01-02", "UTC", NOW)).toMatchObject({ toMs: Date.parse("2027-01-01") });
});

it("has a bucket where nothing was asked, and sums of the others", () => {
  const row = (bucket_ms: number) =>
    ({
      bucket_ms,
      requests: 9,
      served_requests: 5,
      refused_requests: 2,
      failed_requests: 1,
      left_requests: 1,
    }) as HealthRow;
  const window = { fromMs: 0, toMs: 2.5 * HOUR_MS, widthMs: HOUR_MS };
  expect(bucketsOf([row(HOUR_MS)], window).map(({ atMs, row: one }) => [atMs, one?.requests])).toEqual([
    [0, undefined],
    [HOUR_MS, 9],
    [2 * HOUR_MS, undefined],
  ]);
  expect(outcomeSums([row(0), row(HOUR_MS)])).toEqual({ requests: 18, served: 10, refused: 4, failed: 2, left: 2 });
});
