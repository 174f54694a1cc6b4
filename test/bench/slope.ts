/** How a figure moves over time: the straight line that lies closest to its readings. Pure. */

/** One reading. */
export interface SlopeReading {
  readonly atMs: number;
  readonly value: number;
}

/** Its change per minute, by least squares; null of fewer than two moments. */
export function slopePerMinute(readings: readonly SlopeReading[]): number | null {
  const mean = (of: (reading: SlopeReading) => number): number =>
    readings.reduce((sum, reading) => sum + of(reading), 0) / readings.length;
  const [middleMs, middle] = [mean(({ atMs }) => atMs), mean(({ value }) => value)];
  let [together, alone] = [0, 0];
  for (const { atMs, value } of readings) {
    together += (atMs - middleMs) * (value - middle);
    alone += (atMs - middleMs) ** 2;
  }
  return alone > 0 ? (60_000 * together) / alone : null;
}
