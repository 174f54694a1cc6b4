/**
 * When a model is checked again (docs/rules/health.md#probes): after its interval, plus a small random part, so that
 * models which were created together are not always checked together. Pure; the random number is an argument.
 */

const JITTER_MIN_SECS = 1;
const JITTER_MAX_SECS = 120;
/** Ten years. An interval has no upper limit, but a date has. */
export const INTERVAL_MAX_SECS = 315_360_000;

/** The time of the next check, epoch ms. `fraction`: uniform in [0, 1). */
export function nextCheckMs(nowMs: number, intervalSecs: number, fraction: number): number {
  const jitterSecs = Math.min(Math.max(intervalSecs / 10, JITTER_MIN_SECS), JITTER_MAX_SECS);
  return nowMs + Math.round((Math.min(intervalSecs, INTERVAL_MAX_SECS) + fraction * jitterSecs) * 1000);
}
