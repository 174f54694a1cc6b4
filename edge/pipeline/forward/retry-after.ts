/**
 * How long an upstream wants the gateway to wait before it calls again: `retry-after-ms`, else `retry-after` in seconds or as a
 * date (RFC 9110). It has a separate file for its table of cases.
 */

/** The wait in ms, at least 0; null if there is no readable header. */
export function upstreamRetryAfterMs(headers: Headers, nowMs: number): number | null {
  const ms = numberOf(headers.get("retry-after-ms"));
  if (ms !== null) return ms;
  const text = headers.get("retry-after")?.trim() ?? "";
  const seconds = numberOf(text);
  if (seconds !== null) return seconds * 1000;
  const untilMs = /^[A-Za-z]{3},/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(untilMs) ? null : Math.max(0, untilMs - nowMs);
}

function numberOf(text: string | null): number | null {
  const trimmed = text?.trim() ?? "";
  return /^\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : null;
}
