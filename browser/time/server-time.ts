/**
 * The time of the console's server, by which everything here goes: the clock of a person's machine may be a day off, and
 * "the last 24 hours" of such a clock would be empty, or two days (docs/rules/console-figures.md#ages).
 */

/** Clocks of machines, and the ways between them, differ by so much without anybody having set them wrong. */
const TOLERATED_MS = 60_000;

let aheadMs = 0;

/** The time, epoch ms. */
export function serverNowMs(): number {
  return Date.now() + aheadMs;
}

/** When something was read, by the server's clock; `readAtMs`: by this machine's, 0: not yet. */
export function serverTimeOf(readAtMs: number): number {
  return readAtMs === 0 ? 0 : readAtMs + aheadMs;
}

/** Takes in what the server says the time is; anything but an instant leaves things as they are. */
export function learnServerTime(saidMs: unknown): void {
  if (typeof saidMs !== "number" || !Number.isSafeInteger(saidMs) || saidMs <= 0) return;
  const differsMs = saidMs - Date.now();
  aheadMs = Math.abs(differsMs) > TOLERATED_MS ? differsMs : 0;
}
