/** When a tenant may be served, and with which models (docs/rules/tenants.md#writes). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { resolvedKeySchema } from "../../shared/records.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let tenant: Tenant;
let count = 0;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  count += 1;
  const body = { name: `tenant-${count}`, timezone: "Asia/Tokyo" };
  tenant = (await (await control.request("POST", "/api/v1/tenants", body)).json()) as Tenant;
  await control.request("POST", `/api/v1/tenants/${tenant.id}/keys`, {});
  control.cell.items.length = 0;
});

const patch = async (part: string, body: unknown): Promise<Response> =>
  await control.request("PATCH", `/api/v1/tenants/${tenant.id}/${part}`, body);

/** What the tenant's hot copy contains. */
async function copy(): Promise<unknown> {
  for await (const names of control.store.scan("key:*")) {
    for (const text of await control.store.get(names)) {
      const key = resolvedKeySchema.parse(JSON.parse(text ?? "null"));
      if (key.tenant?.id === tenant.id) return key.tenant;
    }
  }
  return undefined;
}

const FROM = "2026-01-01T00:00:00.000Z";
const UNTIL = "2027-01-01T00:00:00.000Z";
const WINDOW = { day: 6, start_min: 0, end_min: 1440 };

describe("the schedule", () => {
  it("merges: what is omitted stays, and null clears", async () => {
    const body = { timezone: "Europe/Berlin", active_from: "2026-01-01T01:00:00+01:00", active_until: UNTIL };
    const set = (await (await patch("schedule", { ...body, weekly_windows: [WINDOW] })).json()) as Tenant;
    const changed = { timezone: "Europe/Berlin", active_from: FROM, active_until: UNTIL, weekly_windows: [WINDOW] };
    expect(set).toEqual({ ...tenant, ...changed, updated_at: set.updated_at, rev: set.rev });
    expect(await copy()).toMatchObject({
      timezone: "Europe/Berlin",
      active_from_ms: Date.parse(FROM),
      active_until_ms: Date.parse(UNTIL),
      weekly_windows: [WINDOW],
    });
    const moved = (await (await patch("schedule", { timezone: "UTC" })).json()) as Tenant;
    expect(moved).toEqual({ ...set, timezone: "UTC", updated_at: moved.updated_at, rev: moved.rev });
    const nothing = { active_from: null, active_until: null, weekly_windows: null };
    const cleared = (await (await patch("schedule", nothing)).json()) as Tenant;
    expect(cleared).toEqual({ ...tenant, timezone: "UTC", updated_at: cleared.updated_at, rev: cleared.rev });
    expect(await copy()).toMatchObject({ active_from_ms: null, active_until_ms: null, weekly_windows: [] });
    expect(control.cell.items.map((item) => [item.kind, item.id])).toEqual([
      ["tenant", tenant.id],
      ["tenant", tenant.id],
      ["tenant", tenant.id],
    ]);
  });

  it("refuses an end that is not after the start that is stored, and the reverse", async () => {
    await patch("schedule", { active_from: FROM, active_until: UNTIL });
    for (const [body, message] of [
      [{ active_until: FROM }, "must be after active_from"],
      [{ active_from: UNTIL }, "must be after active_from"],
    ] as const) {
      const response = await patch("schedule", body);
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: { error: { details: [{ path: "active_until", message }] } },
      });
    }
  });

  it.each([
    [{ active_from: "yesterday" }, "active_from"],
    [{ active_from: UNTIL, active_until: FROM }, "active_until"],
    [{ active_from: FROM, active_until: FROM }, "active_until"],
    [{ timezone: "Mars/Base" }, "timezone"],
    [{ weekly_windows: {} }, "weekly_windows"],
    [{ weekly_windows: [WINDOW, { ...WINDOW, day: 7 }] }, "weekly_windows.1.day"],
    [{ weekly_windows: [{ ...WINDOW, start_min: -1 }] }, "weekly_windows.0.start_min"],
    [{ weekly_windows: [{ ...WINDOW, end_min: 1441 }] }, "weekly_windows.0.end_min"],
    [{ weekly_windows: [{ day: 1, start_min: 1380, end_min: 60 }] }, "weekly_windows.0.end_min"],
    [{ weekly_windows: [{ day: 1, start_min: 60, end_min: 60 }] }, "weekly_windows.0.end_min"],
    [{ weekly_windows: [{ day: 1, start_min: 0.5, end_min: 60 }] }, "weekly_windows.0.start_min"],
    [{ weekly_windows: Array.from({ length: 101 }, () => WINDOW) }, "weekly_windows"],
  ])("refuses %j by naming %s, and changes nothing", async (body, field) => {
    const response = await patch("schedule", body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: field, details: [{ path: field }] } },
    });
    expect(await (await control.request("GET", `/api/v1/tenants/${tenant.id}`)).json()).toEqual(tenant);
    expect(control.cell.items).toEqual([]);
  });
});

describe("the allow-list", () => {
  it.each([
    [
      [" a ", "b", "", "a", "  "],
      ["a", "b"],
    ],
    [[], null],
    [null, null],
  ])("%j is kept as %j", async (given, kept) => {
    await patch("allowlist", { allowed_models: ["before"] });
    const after = (await (await patch("allowlist", { allowed_models: given })).json()) as Tenant;
    expect(after).toEqual({ ...tenant, allowed_models: kept, updated_at: after.updated_at, rev: after.rev });
    expect(await copy()).toMatchObject({ allowed_models: kept });
  });

  it.each([{}, { allowed_models: "a" }, { allowed_models: [5] }])("refuses %j and changes nothing", async (body) => {
    const response = await patch("allowlist", body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed" } },
    });
    expect(await (await control.request("GET", `/api/v1/tenants/${tenant.id}`)).json()).toEqual(tenant);
  });
});
