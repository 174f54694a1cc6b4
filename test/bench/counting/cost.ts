/**
 * The cost of a million requests on Cloudflare, from counted operations and measured CPU time. The prices are those of one
 * day, without the amounts that a plan includes. Pure.
 */
import type { Operations } from "./operations.ts";

/** US dollars of the Workers Paid plan beyond what it includes, and of a key-value store, as published. */
export const PRICES = {
  lookedUp: "2026-11",
  source: "developers.cloudflare.com: /workers/platform/pricing and /durable-objects/platform/pricing",
  requestsPerMillion: 0.3,
  cpuMsPerMillion: 0.02,
  objectRequestsPerMillion: 0.15,
  rowsWrittenPerMillion: 1,
  rowsReadPerMillion: 0.001,
  objectGbSecondsPerMillion: 12.5,
  gbPerObject: 0.128,
  /** Of logs, from December 2026 on (developers.cloudflare.com: /observability/pricing): ingested, and kept for a month. */
  logGb: 0.25,
  logGbMonth: 0.1,
  /** Of a hosted key-value store that is paid by commands (upstash.com/pricing/redis). */
  keyValueCommandsPerMillion: 2,
} as const;

export type Cost = ReturnType<typeof costOfMillion>;

/** The operations and the CPU time of one request. */
export interface PerRequest {
  readonly objectRequests: number;
  readonly rowsWritten: number;
  readonly rowsRead: number;
  /** The CPU time of the whole runtime. This is more than Cloudflare bills, which is only that of the Worker's script. */
  readonly cpuMs: number;
}

/** The calls to objects and the rows of one request. */
export function perRequest({ requests, objectCalls, rowsWritten, rowsRead }: Operations, cpuMs: number): PerRequest {
  const calls = Object.values(objectCalls).reduce((sum, count) => sum + count, 0);
  return {
    objectRequests: calls / requests,
    rowsWritten: rowsWritten / requests,
    rowsRead: rowsRead / requests,
    cpuMs,
  };
}

/** The cost of a million requests that come at `rps` a second, while `objects` objects stay awake for them. */
export function costOfMillion(each: PerRequest, objects: number, rps: number) {
  const seconds = 1_000_000 / rps;
  const requestsUsd = PRICES.requestsPerMillion;
  const cpuUsd = each.cpuMs * PRICES.cpuMsPerMillion;
  const objectRequestsUsd = each.objectRequests * PRICES.objectRequestsPerMillion;
  const rowsWrittenUsd = each.rowsWritten * PRICES.rowsWrittenPerMillion;
  const rowsReadUsd = each.rowsRead * PRICES.rowsReadPerMillion;
  const objectDurationUsd = (objects * seconds * PRICES.gbPerObject * PRICES.objectGbSecondsPerMillion) / 1_000_000;
  const totalUsd = requestsUsd + cpuUsd + objectRequestsUsd + rowsWrittenUsd + rowsReadUsd + objectDurationUsd;
  return { requestsUsd, cpuUsd, objectRequestsUsd, rowsWrittenUsd, rowsReadUsd, objectDurationUsd, totalUsd };
}
