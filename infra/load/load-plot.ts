/** Draws the figures of a load as an SVG that stands alone. Pure. */
import { oneLine } from "../../shared/text/printable.ts";
import type { LoadBucket, LoadFigures } from "./load-figures.ts";

const WIDTH = 960;
const LEFT = 64;
const RIGHT = 24;
const PANEL_HEIGHT = 180;
const TOPS = [72, 312] as const;
const HEIGHT = 548;
const TICKS = 4;
const COLORS = { ok: "#2f7d4f", failed: "#c2412d", p50: "#2b62c4", p95: "#a05a00" };

/** `title` describes the requests, in any characters. */
export function loadPlot(figures: LoadFigures, title: string): string {
  const { buckets, bucketMs, lastedMs } = figures;
  const x = (ms: number): number => LEFT + (ms / Math.max(1, lastedMs)) * (WIDTH - LEFT - RIGHT);
  const rateTop = niceTop(Math.max(...buckets.map((one) => one.okPerSecond + one.failedPerSecond)));
  const timeTop = niceTop(Math.max(...buckets.map(({ first }) => first.p95 ?? 0)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${LEFT}" y="30" font-size="15" fill="#1a1d24">${escaped(title)}</text>`,
    ...panel(TOPS[0], rateTop, "Requests that ended, a second", [
      ["served", COLORS.ok],
      ["not served", COLORS.failed],
    ]),
    ...buckets.flatMap((bucket) => bars(bucket, x, bucketMs, lastedMs, rateTop)),
    ...panel(TOPS[1], timeTop, "Time to first token, ms", [
      ["p50", COLORS.p50],
      ["p95", COLORS.p95],
    ]),
    ...(["p50", "p95"] as const).map((which) => line(buckets, which, x, bucketMs, timeTop)),
    ...timeTicks(lastedMs, x),
    "</svg>",
    "",
  ].join("\n");
}

function panel(
  top: number,
  topValue: number,
  name: string,
  legend: readonly (readonly [text: string, color: string])[],
): readonly string[] {
  const rows = Array.from({ length: TICKS + 1 }, (_, at) => (at / TICKS) * topValue);
  return [
    `<text x="${LEFT}" y="${top - 12}" fill="#1a1d24" font-weight="600">${name}</text>`,
    ...legend.map(
      ([text, color], at) =>
        `<text x="${WIDTH - RIGHT - 90 * (legend.length - 1 - at)}" y="${top - 12}" text-anchor="end" fill="${color}">${text}</text>`,
    ),
    ...rows.flatMap((value) => {
      const y = top + PANEL_HEIGHT - (value / topValue) * PANEL_HEIGHT;
      return [
        `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${n(y)}" y2="${n(y)}" stroke="#d9dce3"/>`,
        `<text x="${LEFT - 8}" y="${n(y + 4)}" text-anchor="end" fill="#5b6270">${n(value)}</text>`,
      ];
    }),
  ];
}

function bars(
  { fromMs, okPerSecond, failedPerSecond }: LoadBucket,
  x: (ms: number) => number,
  bucketMs: number,
  lastedMs: number,
  topValue: number,
): readonly string[] {
  const left = x(fromMs);
  const width = Math.max(1, x(Math.min(fromMs + bucketMs, lastedMs)) - left - 1);
  const bottom = TOPS[0] + PANEL_HEIGHT;
  const height = (value: number): number => (value / topValue) * PANEL_HEIGHT;
  const bar = (y: number, value: number, color: string): readonly string[] =>
    value > 0
      ? [`<rect x="${n(left)}" y="${n(y)}" width="${n(width)}" height="${n(height(value))}" fill="${color}"/>`]
      : [];
  return [
    ...bar(bottom - height(okPerSecond), okPerSecond, COLORS.ok),
    ...bar(bottom - height(okPerSecond) - height(failedPerSecond), failedPerSecond, COLORS.failed),
  ];
}

/** A line with a hole where nothing was served. */
function line(
  buckets: readonly LoadBucket[],
  which: "p50" | "p95",
  x: (ms: number) => number,
  bucketMs: number,
  topValue: number,
): string {
  let isDrawing = false;
  const path = buckets.map(({ fromMs, first }) => {
    const value = first[which];
    const step = isDrawing ? "L" : "M";
    isDrawing = value !== null;
    if (value === null) return "";
    const y = TOPS[1] + PANEL_HEIGHT - (Math.min(value, topValue) / topValue) * PANEL_HEIGHT;
    return `${step}${n(x(fromMs + bucketMs / 2))} ${n(y)}`;
  });
  return `<path d="${path.join("")}" fill="none" stroke="${COLORS[which]}" stroke-width="2" stroke-linecap="round"/>`;
}

function timeTicks(lastedMs: number, x: (ms: number) => number): readonly string[] {
  return Array.from({ length: TICKS + 1 }, (_, at) => (at / TICKS) * lastedMs).flatMap((ms) =>
    TOPS.map(
      (top) =>
        `<text x="${n(x(ms))}" y="${top + PANEL_HEIGHT + 18}" text-anchor="middle" fill="#5b6270">${n(ms / 1000)} s</text>`,
    ),
  );
}

/** Numbers are shown with two decimals. */
const LEAST_SHOWN = 0.01;

/** The smallest of 1, 2, 5 times a power of ten that is not below a value; 1 if it is not a number. */
function niceTop(value: number): number {
  if (!Number.isFinite(value) || value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(Math.max(value, LEAST_SHOWN)));
  return (([1, 2, 5, 10] as const).find((step) => step * power >= value) ?? 10) * power;
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escaped(text: string): string {
  const shown = oneLine(text.toWellFormed()).replaceAll(/[\ufffe\uffff]/g, "");
  return shown.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
