/** The slice that puts a load on a target: the same request for each, but for its address and credentials. */
import type { Load, TargetName } from "./loads.ts";
import { FRESH, type Slice } from "./slice.ts";

export interface Target {
  readonly name: TargetName;
  /** The process whose CPU time and memory its requests cost; null: none of ours. */
  readonly pid: number | null;
  /** More processes that work for its requests, such as the one that keeps the ledger. */
  readonly beside: readonly number[];
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

/** What the load generator is told. */
export function sliceOf(load: Load, target: Target, durationMs: number): Slice {
  return {
    url: `${target.base(load)}/chat/completions`,
    headers: target.headers(load).map((more) => ({ "content-type": "application/json", ...more })),
    body: bodyOf(load),
    freshShare: load.freshShare ?? 0,
    reading: load.reading,
    concurrency: load.concurrency,
    durationMs: load.once ? 0 : durationMs,
    leastRequests: 0,
  };
}

/** So few at once when nobody has been met yet: a crowd of strangers is not what a load is about. */
const FIRST_MET_AT_ONCE = 4;

/** The same as a turn that warms up: every tenant is met. */
export function warmUpOf(load: Load, target: Target, durationMs: number): Slice {
  const slice = sliceOf(load, target, durationMs);
  const concurrency = load.once ? 1 : load.tenants === "many" ? FIRST_MET_AT_ONCE : load.concurrency;
  return { ...slice, concurrency, leastRequests: slice.headers.length };
}
