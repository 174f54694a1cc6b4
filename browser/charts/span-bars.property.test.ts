/** Hostile spans: cycles of parents, negative and endless durations, thousands of them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Span } from "../../shared/schema/usage-reads.ts";
import { hostileNumber } from "../../test/harness/any-number.ts";
import { spanBars } from "./span-bars.ts";

const NOW = Date.UTC(2026, 10, 23);
const ROW = { ts_ms: NOW, total_ms: 1000 };

function span(fields: Partial<Span>): Span {
  return {
    request_id: "r",
    span_name: "upstream",
    parent_span: "proxy_request",
    start_ms: NOW - 1000,
    duration_ms: 100,
    status: "ok",
    attributes: "{}",
    ...fields,
  };
}

const name = fc.constantFrom("proxy_request", "upstream", "admission", "a", "b", "__proto__", "constructor", "");
const anySpan = fc
  .record({
    span_name: name,
    parent_span: name,
    start_ms: fc.oneof(hostileNumber, fc.integer({ min: NOW - 5000, max: NOW + 5000 })),
    duration_ms: hostileNumber,
    status: fc.constantFrom("ok", "error", ""),
    attributes: fc.oneof(fc.json(), fc.string()),
  })
  .map(span);

describe("spanBars", () => {
  it("keeps every bar inside, in the order of the starts, and loses no span unsaid", () => {
    fc.assert(
      fc.property(
        fc.array(anySpan, { maxLength: 40 }),
        fc.record({ ts_ms: hostileNumber, total_ms: hostileNumber }),
        (spans, row) => {
          const { bars, hiddenCount, wholeMs } = spanBars(row, spans);
          expect(bars.length + hiddenCount).toBe(spans.length);
          expect(wholeMs >= 1 && wholeMs <= 86_400_000).toBe(true);
          for (const { from, length, depth, startMs, durationMs } of bars) {
            expect(from >= 0 && length >= 0 && from + length <= 1 + 1e-9).toBe(true);
            expect(depth >= 0 && depth <= 8).toBe(true);
            expect(startMs === null || Number.isFinite(startMs)).toBe(true);
            expect(durationMs === null || (Number.isFinite(durationMs) && durationMs >= 0)).toBe(true);
          }
          const starts = bars.flatMap(({ startMs }) => (startMs === null ? [] : [startMs]));
          expect(starts).toEqual([...starts].sort((a, b) => a - b));
        },
      ),
    );
  });

  it("places spans within the root's time", () => {
    const { bars, wholeMs } = spanBars(ROW, [
      span({ span_name: "proxy_request", parent_span: "", start_ms: NOW - 2000, duration_ms: 2000 }),
      span({ start_ms: NOW - 1500, duration_ms: 500, attributes: '{"status":200,"endpoint":"a"}' }),
      span({ span_name: "upstream_diagnostics", parent_span: "upstream", start_ms: NOW - 1500, duration_ms: 1e308 }),
    ]);
    expect(wholeMs).toBe(2000);
    expect(bars).toMatchObject([
      { name: "proxy_request", depth: 0, from: 0, length: 1, isClipped: false },
      {
        name: "upstream",
        depth: 1,
        from: 0.25,
        length: 0.25,
        startMs: 500,
        attributes: [
          ["status", "200"],
          ["endpoint", "a"],
        ],
      },
      { name: "upstream_diagnostics", depth: 2, from: 0.25, length: 0.75, isClipped: true },
    ]);
  });

  it("takes the row's time when the root is missing or not credible", () => {
    expect(spanBars(ROW, [span({ duration_ms: 250 })])).toMatchObject({
      wholeMs: 1000,
      bars: [{ from: 0, length: 0.25 }],
    });
    const root = span({ span_name: "proxy_request", parent_span: "", start_ms: 0, duration_ms: 1e308 });
    expect(spanBars(ROW, [root]).wholeMs).toBe(1000);
  });

  it("ends for parents that go in a circle, and for a chain of ten thousand", () => {
    const circle = [span({ span_name: "a", parent_span: "b" }), span({ span_name: "b", parent_span: "a" })];
    expect(
      spanBars(ROW, circle)
        .bars.map(({ depth }) => depth)
        .sort((a, b) => a - b),
    ).toEqual([0, 1]);
    expect(spanBars(ROW, [span({ span_name: "a", parent_span: "a" })]).bars[0]?.depth).toBe(0);
    const chain = Array.from({ length: 10_000 }, (_, at) => span({ span_name: `s${at}`, parent_span: `s${at + 1}` }));
    const { bars, hiddenCount } = spanBars(ROW, chain);
    expect({ barCount: bars.length, hiddenCount }).toEqual({ barCount: 200, hiddenCount: 9800 });
  });

  it("shows the longest spans when there are too many", () => {
    const many = Array.from({ length: 300 }, (_, at) => span({ duration_ms: at }));
    expect(Math.min(...spanBars(ROW, many).bars.map(({ durationMs }) => durationMs ?? 0))).toBe(100);
  });

  it("cuts what is long, and leaves out attributes that are not an object", () => {
    const of = (attributes: string) => spanBars(ROW, [span({ attributes })]).bars[0]?.attributes;
    expect(of("[1]")).toEqual([]);
    expect(of("{")).toEqual([]);
    expect(of(`{"a":"${"x".repeat(30_000)}"}`)).toEqual([]);
    expect(of(`{"a":"${"x".repeat(300)}"}`)?.[0]?.[1]).toHaveLength(201);
    expect(of('{"a":"x\\u202ey\\u001b[2J"}')).toEqual([["a", "x y [2J"]]);
    expect(of('{"__proto__":{"x":1}}')).toEqual([["__proto__", '{"x":1}']]);
  });
});
