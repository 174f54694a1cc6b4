/** Settings on the running stack: every cell has confirmed a write when it answers (decisions §2.6, §9). */
import { expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";

const fixture = useGateway();

it.each(["boons", "auto-router", "energy", "alerts", "jobsched", "usage-retention", "assistant"])(
  "%s are read, written back unchanged, and confirmed",
  async (name) => {
    const path = `/settings/${name}`;
    const before = await fixture.gateway.must<Record<string, unknown>>("GET", path);
    const body = name === "usage-retention" ? { days: before["days"] } : {};
    const after = await fixture.gateway.must<Record<string, unknown>>("PUT", path, body);
    expect(after).toEqual(name === "usage-retention" ? { ...before, configured: true } : before);
    const [entry] = await fixture.gateway.must<{ entity_id: string }[]>("GET", "/audit?entity_type=settings&limit=1");
    expect(entry?.entity_id).toBe(name.replace("-", "_"));
  },
);

it("the compressor is none, and nothing tests without an address", async () => {
  expect(await fixture.gateway.must("GET", "/settings/compressor")).toMatchObject({ configured: false, error: null });
  for (const [path, code] of [
    ["/settings/alerts/test", "no_alert_channel"],
    ["/settings/energy/test", "energy_test_failed"],
    ["/settings/jobsched/test", "jobsched_not_configured"],
  ] as const) {
    const response = await fixture.gateway.admin("POST", path);
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code } }]);
  }
});
