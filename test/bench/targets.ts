/** The slice that puts a load on a target: the same request for each, but for its address and credentials. */
import type { Load, TargetName } from "./loads.ts";
import { FRESH, type Slice } from "./slice.ts";

export interface Target {
  readonly name: TargetName;
  /** The process whose CPU time and memory its requests cost; null: none of ours. */
  readonly pid: number | null;
  /** Scheme, host and port, for the behaviour of a load. */
  readonly base: (load: Load) => string;
  readonly headers: (load: Load) => readonly Readonly<Record<string, string>>[];
}

/** The model that serves a load. */
export const modelOf = (load: Load): string => `bench-${load.behaviour}${load.freshShare === null ? "" : "-cached"}`;

/** The body of a load's requests, of `bodyBytes` bytes, with {@link FRESH} at its front where texts differ. */
export function bodyOf(load: Load): string {
  const body = (filler: string): string =>
    JSON.stringify({
      model: modelOf(load),
      max_tokens: 64,
      ...(load.reading === "whole" ? {} : { stream: true }),
      ...(load.asksUsage ? { stream_options: { include_usage: true } } : {}),
      messages: [{ role: "user", content: `${load.freshShare === null ? "" : FRESH} ${filler}` }],
    });
  return body("x".repeat(Math.max(0, load.bodyBytes - body("").length)));
}

/** What the load generator is told; a turn that warms up meets every tenant. */
export function sliceOf(load: Load, target: Target, durationMs: number, warmsUp: boolean): Slice {
  const headers = target.headers(load).map((more) => ({ "content-type": "application/json", ...more }));
  return {
    url: `${target.base(load)}/chat/completions`,
    headers,
    body: bodyOf(load),
    freshShare: load.freshShare ?? 0,
    reading: load.reading,
    concurrency: load.concurrency,
    durationMs: load.once ? 0 : durationMs,
    leastRequests: warmsUp ? headers.length : 0,
  };
}
