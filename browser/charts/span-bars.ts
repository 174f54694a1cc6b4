/**
 * The spans of a traced request as bars of a waterfall (docs/rules/tracing.md#spans). Spans are records of times that several
 * machines have measured: a parent may be missing or its own ancestor, a duration negative or beyond every number, and there
 * may be ten thousand. Whatever they say, every bar lies within the waterfall. O(n log n). Pure.
 */

import type { Span } from "../../shared/schema/usage-reads.ts";
import { oneLine } from "../../shared/text/printable.ts";
import type { UsageRow } from "../../shared/usage/usage-row.ts";
import { isInstant } from "../time/instants.ts";

/** One bar. Fractions are of the waterfall's width. */
interface SpanBar {
  readonly name: string;
  /** How many ancestors it has, 0 to 8. */
  readonly depth: number;
  readonly from: number;
  readonly length: number;
  /** From the beginning of the request, which may be after it; null when it is not credible. */
  readonly startMs: number | null;
  /** Null when it is not credible. */
  readonly durationMs: number | null;
  /** True when a part of it lies outside of the waterfall. */
  readonly isClipped: boolean;
  readonly isError: boolean;
  /** Names and values, 20 at most. */
  readonly attributes: readonly (readonly [string, string])[];
}

/** The bars in the order of their starts, and how many shorter ones there were no room for. */
interface SpanBars {
  readonly bars: readonly SpanBar[];
  readonly hiddenCount: number;
  /** Width of the waterfall, ms, at least 1. */
  readonly wholeMs: number;
}

const BARS_MAX = 200;
const DEPTH_MAX = 8;
const ATTRIBUTES_MAX = 20;
const ATTRIBUTES_CHARACTERS_MAX = 20_000;
const VALUE_CHARACTERS_MAX = 200;
const DAY_MS = 86_400_000;
/** A longer span is no measurement. */
const LONGEST_MS = 2 ** 32 - 1;
const ROOT = "proxy_request";

/** The bars of a request's spans, the 200 longest at most. */
export function spanBars(row: Pick<UsageRow, "ts_ms" | "total_ms">, spans: readonly Span[]): SpanBars {
  const { startMs, wholeMs } = waterfallOf(row, spans);
  const depths = depthsOf(spans);
  const chosen = spans
    .map((span, at) => ({ span, at }))
    .sort((a, b) => lengthOf(b.span) - lengthOf(a.span) || a.at - b.at)
    .slice(0, BARS_MAX)
    .sort((a, b) => startOf(a.span) - startOf(b.span) || a.at - b.at);
  const bars = chosen.map(({ span }): SpanBar => {
    const isPlaced = isInstant(span.start_ms);
    const fromMs = isPlaced ? span.start_ms - startMs : 0;
    const endMs = fromMs + Math.min(lengthOf(span), 2 * DAY_MS);
    const [from, end] = [inside(fromMs / wholeMs), inside(endMs / wholeMs)];
    return {
      name: cut(span.span_name),
      depth: depths.get(span.span_name) ?? 0,
      from,
      length: end - from,
      startMs: isPlaced && Math.abs(fromMs) <= LONGEST_MS ? fromMs : null,
      durationMs: isDuration(span.duration_ms) && span.duration_ms <= LONGEST_MS ? span.duration_ms : null,
      isClipped: !isPlaced || fromMs < 0 || fromMs + lengthOf(span) > wholeMs,
      isError: span.status === "error",
      attributes: attributesOf(span.attributes),
    };
  });
  return { bars, hiddenCount: spans.length - bars.length, wholeMs };
}

/** When the request began and how long it took: as its root span says when that is credible, else as its row does. */
function waterfallOf(
  row: Pick<UsageRow, "ts_ms" | "total_ms">,
  spans: readonly Span[],
): { readonly startMs: number; readonly wholeMs: number } {
  const isCredible = (span: Span): boolean =>
    span.span_name === ROOT &&
    isDuration(span.duration_ms) &&
    span.duration_ms <= DAY_MS &&
    Math.abs(span.start_ms - row.ts_ms) <= DAY_MS;
  const root = spans.find(isCredible);
  if (root !== undefined) return { startMs: root.start_ms, wholeMs: Math.max(1, root.duration_ms) };
  const wholeMs = isDuration(row.total_ms) ? Math.max(1, Math.min(row.total_ms, DAY_MS)) : 1;
  return { startMs: isInstant(row.ts_ms) ? row.ts_ms - wholeMs : 0, wholeMs };
}

function isDuration(ms: number): boolean {
  return Number.isFinite(ms) && ms >= 0;
}

/** For the order and the end of a bar: 0 for what is no duration. */
function lengthOf({ duration_ms }: Span): number {
  return isDuration(duration_ms) ? duration_ms : 0;
}

function startOf({ start_ms }: Span): number {
  return isInstant(start_ms) ? start_ms : Number.NEGATIVE_INFINITY;
}

function inside(fraction: number): number {
  return fraction > 0 ? Math.min(1, fraction) : 0;
}

/** How many ancestors a span of each name has. The count ends at a name that was counted before. */
function depthsOf(spans: readonly Span[]): ReadonlyMap<string, number> {
  const parents = new Map<string, string>();
  for (const { span_name, parent_span } of spans) if (!parents.has(span_name)) parents.set(span_name, parent_span);
  const depths = new Map<string, number>();
  for (const name of parents.keys()) {
    const path: string[] = [];
    const onPath = new Set<string>();
    let at = name;
    while (parents.has(at) && !depths.has(at) && !onPath.has(at)) {
      path.push(at);
      onPath.add(at);
      at = parents.get(at) ?? "";
    }
    let depth = depths.has(at) ? (depths.get(at) ?? 0) + 1 : 0;
    for (const passed of path.reverse()) {
      depths.set(passed, Math.min(depth, DEPTH_MAX));
      depth += 1;
    }
  }
  return depths;
}

/** The attributes of a span, which are a JSON text; none when it is not one, or too long to be one of ours. */
function attributesOf(json: string): readonly (readonly [string, string])[] {
  if (json.length > ATTRIBUTES_CHARACTERS_MAX) return [];
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
    return Object.entries(value)
      .slice(0, ATTRIBUTES_MAX)
      .map(([name, one]) => [cut(name), cut(typeof one === "string" ? one : (JSON.stringify(one) ?? ""))]);
  } catch {
    return [];
  }
}

/** One line of bounded length. */
function cut(text: string): string {
  const value = oneLine(text.slice(0, VALUE_CHARACTERS_MAX + 1));
  return value.length > VALUE_CHARACTERS_MAX ? `${value.slice(0, VALUE_CHARACTERS_MAX).toWellFormed()}…` : value;
}
