/** What a link says reaches its page: written into the address by the router, read back, and judged by the page. */
import { defaultParseSearch, defaultStringifySearch } from "@tanstack/react-router";
import { expect, it } from "vitest";
import type { LinkTarget } from "../explain/link-target.ts";
import { logsSearch } from "../pages/logs/logs-search.ts";
import { slowestTargets } from "../pages/overview/day-figures.ts";

/** What the page at the end of a link gets. */
function arrived(
  { search }: LinkTarget,
  judge: (search: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
) {
  return judge(defaultParseSearch(defaultStringifySearch(search)));
}

it.each([
  [{ p95FirstTokenMs: 1500.7, p95QueueWaitMs: 250 }, 1500, 250],
  [{ p95FirstTokenMs: null, p95QueueWaitMs: 0.2 }, 1, 1],
])("the slow requests of %j are filtered by their time", (day, minTotalMs, minQueueWaitMs) => {
  const { firstToken, queueWait } = slowestTargets({ costUsd: 0, p50QueueWaitMs: null, ...day });
  expect(arrived(firstToken, logsSearch)).toEqual({ min_total_ms: minTotalMs });
  expect(arrived(queueWait, logsSearch)).toEqual({ min_queue_wait_ms: minQueueWaitMs });
});
