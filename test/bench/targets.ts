/** The slice that puts a load on a target: the same request for each target, except for address and credentials. */
import type { Load, TargetName } from "./loads.ts";
import { proseOf } from "./prose.ts";
import { FRESH, type Slice } from "./slice.ts";

export interface Target {
  readonly name: TargetName;
  /** The process whose CPU time and memory the target's requests cost; null: it is not a process of the bench. */
  readonly pid: number | null;
  /** Other processes that work for the target's requests, such as the one with the ledger. */
  readonly beside: readonly number[];
  /** Scheme, host and port for the behaviour of a load. */
  readonly base: (load: Load) => string;
  readonly headers: (load: Load) => readonly Readonly<Record<string, string>>[];
}

/** The name of the model that serves a load. */
export const benchModelOf = ({ behaviour, freshShare }: Pick<Load, "behaviour" | "freshShare">): string =>
  `bench-${behaviour}${freshShare === null ? "" : "-cached"}`;

/** The body of a load's requests, `bodyBytes` bytes long, with {@link FRESH} at its front where texts differ. */
export function benchBodyOf(load: Load): string {
  const body = (filler: string): string =>
    JSON.stringify({
      model: benchModelOf(load),
      max_tokens: 64,
      ...(load.reading === "whole" ? {} : { stream: true }),
      ...(load.asksUsage ? { stream_options: { include_usage: true } } : {}),
      messages: [{ role: "user", content: `${load.freshShare === null ? "" : FRESH} ${filler}` }],
    });
  const length = Math.max(0, load.bodyBytes - body("").length);
  return body(load.prose ? proseOf(length) : "x".repeat(length));
}

/** The message for the load generator. */
export function sliceOf(load: Load, target: Target, durationMs: number): Slice {
  return {
    url: `${target.base(load)}/chat/completions`,
    headers: target.headers(load).map((more) => ({ "content-type": "application/json", ...more })),
    body: benchBodyOf(load),
    freshShare: load.freshShare ?? 0,
    reading: load.reading,
    concurrency: load.concurrency,
    durationMs: load.once ? 0 : durationMs,
    leastRequests: load.leastRequests,
  };
}

/**
 * So few requests at once while the tenants are still unknown to the gateway: a crowd of unknown tenants is not what a load
 * measures.
 */
const FIRST_MET_AT_ONCE = 4;

/** The message for a warm-up turn: every tenant sends a request. */
export function warmUpOf(load: Load, target: Target, durationMs: number): Slice {
  const slice = sliceOf(load, target, durationMs);
  const concurrency = load.once ? 1 : load.tenants === "many" ? FIRST_MET_AT_ONCE : load.concurrency;
  return { ...slice, concurrency, leastRequests: slice.headers.length };
}
