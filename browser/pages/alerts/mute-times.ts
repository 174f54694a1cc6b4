/** For how long an alert is muted. Pure. */

const HOUR_MS = 3_600_000;

/** The usual lengths. */
export const MUTE_LENGTHS = [
  { id: "1h", ms: HOUR_MS },
  { id: "4h", ms: 4 * HOUR_MS },
  { id: "24h", ms: 24 * HOUR_MS },
  { id: "7d", ms: 7 * 24 * HOUR_MS },
] as const;

/** The end of a mute of this length, as the API takes it. */
export const muteEnd = (nowMs: number, lengthMs: number): string => new Date(nowMs + lengthMs).toISOString();

/** A typed end, as the API takes it; null: it is no time, or has passed. */
export function typedMuteEnd(epochMs: number | null, nowMs: number): string | null {
  return epochMs === null || epochMs <= nowMs ? null : new Date(epochMs).toISOString();
}
