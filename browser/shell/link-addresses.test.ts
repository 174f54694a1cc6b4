/** What a link says reaches its page: written into the address by the router, read back, and validated by the page. */
import { defaultParseSearch, defaultStringifySearch } from "@tanstack/react-router";
import { expect, it } from "vitest";
import { errorTarget } from "../explain/error-target.ts";
import type { LinkTarget } from "../explain/link-target.ts";
import { slowestTargets } from "../forms/usage/day-figures.ts";
import { fairshareSearch } from "../pages/fairshare/fairshare-search.ts";
import { logsSearch } from "../pages/logs/logs-search.ts";

/** What the page at the end of a link gets. */
function arrived(
  { search }: LinkTarget,
  validate: (search: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
) {
  return validate(defaultParseSearch(defaultStringifySearch(search)));
}

it.each([
  [{ p95FirstTokenMs: 1500.7, p95QueueWaitMs: 250 }, 1500, 250],
  [{ p95FirstTokenMs: null, p95QueueWaitMs: 0.2 }, 1, 1],
])("the slow requests of %j are filtered by their time", (day, minTotalMs, minQueueWaitMs) => {
  const { firstToken, queueWait } = slowestTargets({ costUsd: 0, p50QueueWaitMs: null, ...day });
  expect(arrived(firstToken, logsSearch)).toEqual({ min_total_ms: minTotalMs });
  expect(arrived(queueWait, logsSearch)).toEqual({ min_queue_wait_ms: minQueueWaitMs });
});

it("a refused queue is found among those of its tenant", () => {
  const tenant_id = "7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e";
  const target = errorTarget("queue_full", { tenant_id, key_id: "", model: "m" });
  expect(target?.to).toBe("/fairshare");
  expect(target === null ? null : arrived(target, fairshareSearch)).toEqual({ tenant_id });
});
