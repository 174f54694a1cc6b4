/** The line of a sparkline as the text of an SVG path. Pure. */
import { coordinate, drawn } from "./numbers.ts";

/**
 * The path through values at equal distances, within 0..width and 0..height. The bottom is 0 and the top the largest value, so
 * that the line never makes a small change look large; negative values count as 0. What is not known is a gap; a value between
 * two gaps is a point. Empty when nothing is known.
 */
export function sparklinePath(values: readonly (number | null)[], width: number, height: number): string {
  const known = values.map((value) => (drawn(value) === null ? null : Math.max(0, drawn(value) ?? 0)));
  const largest = known.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const commands: string[] = [];
  for (const [at, value] of known.entries()) {
    if (value === null) continue;
    const x = coordinate(at * step);
    const y = coordinate(largest === 0 ? height : height - (value / largest) * height);
    const follows = (known[at - 1] ?? null) !== null;
    if (follows) commands.push(`L${x} ${y}`);
    else commands.push((known[at + 1] ?? null) === null ? `M${x} ${y}h0` : `M${x} ${y}`);
  }
  return commands.join("");
}
