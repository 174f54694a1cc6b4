/** Reads of a stored answer while nobody can say how many requests are left (docs/rules/budgets.md#unreachable). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ResolvedKey } from "../../shared/records.ts";
import { IdentityTransform } from "../../test/harness/edge/pipeline/identity-transform.ts";
import { keyOf, tenantOf } from "../../test/harness/edge/pipeline/records.ts";
import { TestPermit, TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { runStored } from "./run-stored.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

async function read(key: ResolvedKey, failOpen: boolean) {
  const world = new TestPipeline();
  world.key = key;
  world.failOpen = failOpen;
  world.objects.set("resp_1", { upstream: "http://upstream.test", model: "tiny" });
  world.upstream = async () => Response.json({ id: "resp_1" });
  let requests = 0;
  world.subCallPermit = async ({ need }) => {
    requests += need.requests ?? 0;
    return new TestPermit();
  };
  const response = await runStored(world.received({ method: "GET", body: null }, "/v1/responses/resp_1"), "resp_1");
  const text = await response.text();
  await world.settled();
  const { code = null } = (JSON.parse(text) as { error?: { code: string } }).error ?? {};
  const alerts = world.alerts.map(({ issueKey }) => issueKey);
  return { status: response.status, code, requests, calls: world.upstreamCalls.length, alerts };
}

const ofTenant = keyOf({ tenant: tenantOf({ requests_per_minute: 1 }) });
const ofKey = keyOf({ requests_per_minute: 1 });

describe("a read of a stored answer whose limit cannot be read", () => {
  it.each([
    ["tenant", ofTenant, "redis_budget_reserve_failed_open"],
    ["key", ofKey, "redis_key_budget_reserve_failed_open"],
  ])("counts as one of the requests per minute of its %s", async (_, key, alert) => {
    expect(await read(key, true)).toEqual({ status: 200, code: null, requests: 1, calls: 1, alerts: [alert] });
  });

  it.each([
    ["tenant", ofTenant, "budget_check_failed", "redis_budget_reserve_failed_closed"],
    ["key", ofKey, "key_budget_check_failed", "redis_key_budget_reserve_failed_closed"],
  ])("is refused with GATEWAY_FAIL_OPEN off, if its %s has one", async (_, key, code, alert) => {
    expect(await read(key, false)).toEqual({ status: 503, code, requests: 0, calls: 0, alerts: [alert] });
  });

  it("does not count, and is not refused, if there is no limit", async () => {
    expect(await read(keyOf(), false)).toEqual({ status: 200, code: null, requests: 0, calls: 1, alerts: [] });
  });
});
