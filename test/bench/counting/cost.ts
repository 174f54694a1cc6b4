/**
 * What a million requests cost on Cloudflare, from operations that were counted and CPU time that was measured. Prices are
 * those of one day, without what a plan includes. Pure.
 */
import type { Operations } from "./operations.ts";

/** US dollars of the Workers Paid plan beyond what it includes, as published. */
export const PRICES = {
  lookedUp: "2026-11",
  source: "developers.cloudflare.com: /workers/platform/pricing and /durable-objects/platform/pricing",
  requestsPerMillion: 0.3,
  cpuMsPerMillion: 0.02,
  objectRequestsPerMillion: 0.15,
  rowsWrittenPerMillion: 1,
  objectGbSecondsPerMillion: 12.5,
  gbPerObject: 0.128,
} as const;

export interface Cost {
  readonly requestsUsd: number;
  readonly cpuUsd: number;
  readonly objectRequestsUsd: number;
  readonly rowsWrittenUsd: number;
  readonly objectDurationUsd: number;
  readonly totalUsd: number;
}

/** Per request. */
export interface PerRequest {
  readonly objectRequests: number;
  readonly rowsWritten: number;
  /** The CPU time of the whole runtime: more than is billed, which is that of the Worker's script alone. */
  readonly cpuMs: number;
}

/** The objects' calls and rows of one request. */
export function perRequest({ requests, objectCalls, rowsWritten }: Operations, cpuMs: number): PerRequest {
  const calls = Object.values(objectCalls).reduce((sum, count) => sum + count, 0);
  return { objectRequests: calls / requests, rowsWritten: rowsWritten / requests, cpuMs };
}

/** What a million requests cost when `objects` objects stay awake for them and `rps` come a second. */
export function costOfMillion(each: PerRequest, objects: number, rps: number): Cost {
  const seconds = 1_000_000 / rps;
  const requestsUsd = PRICES.requestsPerMillion;
  const cpuUsd = each.cpuMs * PRICES.cpuMsPerMillion;
  const objectRequestsUsd = each.objectRequests * PRICES.objectRequestsPerMillion;
  const rowsWrittenUsd = each.rowsWritten * PRICES.rowsWrittenPerMillion;
  const objectDurationUsd = (objects * seconds * PRICES.gbPerObject * PRICES.objectGbSecondsPerMillion) / 1_000_000;
  const totalUsd = requestsUsd + cpuUsd + objectRequestsUsd + rowsWrittenUsd + objectDurationUsd;
  return { requestsUsd, cpuUsd, objectRequestsUsd, rowsWrittenUsd, objectDurationUsd, totalUsd };
}
