/**
 * Draws a run's timeline: slots held by every set of tenants, second by second, stacked. Pure text.
 */
import { type ShareRun, WINDOW_MS } from "./run.ts";
import type { Scenario } from "./scenarios.ts";

const WIDTH = 960;
const HEIGHT = 360;
const MARGIN = { left: 48, right: 150, top: 44, bottom: 40 } as const;
const COLOURS = ["#3366cc", "#e69f00", "#2a9d8f", "#c1440e", "#8e6bbf", "#777777"] as const;

/** A complete SVG document. */
export function timelineSvg(scenario: Scenario, run: ShareRun): string {
  const sets = [...new Set(scenario.tenants.map((plan) => plan.set))];
  const x = (ms: number): number => MARGIN.left + (ms / scenario.endMs) * (WIDTH - MARGIN.left - MARGIN.right);
  const y = (slots: number): number =>
    HEIGHT - MARGIN.bottom - (slots / scenario.slots) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  let floor = run.windows.map(() => 0);
  const layers = sets.map((set, at) => {
    const ids = scenario.tenants.filter((plan) => plan.set === set).map((plan) => plan.id);
    const top = run.windows.map(
      (window, index) => (floor[index] ?? 0) + ids.reduce((sum, id) => sum + (window.held.get(id) ?? 0), 0) / WINDOW_MS,
    );
    const edge = (levels: readonly number[]): string[] =>
      levels.flatMap((level, index) => {
        const endMs = run.windows[index]?.endMs ?? 0;
        return [point(x(endMs - WINDOW_MS), y(level)), point(x(endMs), y(level))];
      });
    const points = [...edge(top), ...edge(floor).toReversed()].join(" ");
    floor = top;
    const legendY = MARGIN.top + 20 * at;
    const colour = COLOURS[at % COLOURS.length] ?? COLOURS[0];
    return [
      `<polygon fill="${colour}" fill-opacity="0.85" points="${points}"/>`,
      `<rect x="${WIDTH - MARGIN.right + 16}" y="${legendY}" width="12" height="12" fill="${colour}"/>`,
      text(WIDTH - MARGIN.right + 34, legendY + 11, set),
    ].join("\n");
  });
  const ticks = Array.from({ length: 7 }, (_, at) => (scenario.endMs * at) / 6);
  const levels = [0, scenario.slots / 2, scenario.slots];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    text(MARGIN.left, 24, `${scenario.title} (${scenario.algorithm}): slots held`),
    ...layers,
    ...levels.map((slots) => line(x(0), y(slots), x(scenario.endMs), y(slots)) + text(14, y(slots) + 4, String(slots))),
    ...ticks.map((ms) => text(x(ms) - 10, HEIGHT - MARGIN.bottom + 18, `${Math.round(ms / 1000)} s`)),
    ...(scenario.joinMs > 0 ? [line(x(scenario.joinMs), y(0), x(scenario.joinMs), y(scenario.slots))] : []),
    "</svg>",
    "",
  ].join("\n");
}

function point(x: number, y: number): string {
  return `${x.toFixed(1)},${y.toFixed(1)}`;
}

function line(x1: number, y1: number, x2: number, y2: number): string {
  return `<path d="M${point(x1, y1)} L${point(x2, y2)}" stroke="#333333" stroke-width="1" stroke-dasharray="4 3"/>`;
}

function text(x: number, y: number, words: string): string {
  const safe = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}">${safe}</text>`;
}
