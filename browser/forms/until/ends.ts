/** For how long something holds, a mute or a maintenance. Pure. */

const HOUR_MS = 3_600_000;

/** The usual lengths. */
export const LENGTHS_MS = { "1h": HOUR_MS, "4h": 4 * HOUR_MS, "24h": 24 * HOUR_MS, "7d": 7 * 24 * HOUR_MS } as const;
export type Length = keyof typeof LENGTHS_MS;

/** The end of what holds for this length, as the API takes it. */
export const endAfter = (nowMs: number, lengthMs: number): string => new Date(nowMs + lengthMs).toISOString();

/** A typed end, as the API takes it; null: it is no time, or has passed. */
export function typedEnd(epochMs: number | null, nowMs: number): string | null {
  return epochMs === null || epochMs <= nowMs ? null : new Date(epochMs).toISOString();
}
