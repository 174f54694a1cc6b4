/**
 * Points in time and days on every route that takes one (docs/rules/management-api.md#times).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Backup } from "../../shared/schema/backup.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let tenant: Tenant;
let key: CreatedKey["key"];
let model: Model;

beforeAll(async () => {
  control = await startControl();
  tenant = await send<Tenant>("POST", "/tenants", { name: "timed" });
  key = (await send<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { budget_tokens: 1 })).key;
  model = await send<Model>("POST", "/models", { model_name: "timed" });
});
afterAll(async () => {
  await control.close();
});

async function send<T>(method: string, path: string, body?: object): Promise<T> {
  return (await (await control.request(method, `/api/v1${path}`, body)).json()) as T;
}

type Place = readonly [title: string, field: string, method: string, path: () => string, body: (at: unknown) => object];

let names = 0;
const fresh = (): string => {
  names += 1;
  return `timed-${names}`;
};

const PLACES: readonly Place[] = [
  [
    "the start of a tenant's access",
    "active_from",
    "PATCH",
    () => `/tenants/${tenant.id}/schedule`,
    (at) => ({ active_from: at, active_until: null }),
  ],
  [
    "the end of a tenant's access",
    "active_until",
    "PATCH",
    () => `/tenants/${tenant.id}/schedule`,
    (at) => ({ active_until: at, active_from: null }),
  ],
  [
    "the start of a tenant's budget",
    "budget_started_at",
    "PATCH",
    () => `/tenants/${tenant.id}/budget`,
    (at) => ({ budget_tokens: 1, budget_started_at: at }),
  ],
  [
    "the start of a key's budget",
    "budget_started_at",
    "PUT",
    () => `/keys/${key.id}`,
    (at) => ({ budget_started_at: at }),
  ],
  [
    "the start of a new key's budget",
    "budget_started_at",
    "POST",
    () => `/tenants/${tenant.id}/keys`,
    (at) => ({ budget_tokens: 1, budget_started_at: at }),
  ],
  [
    "the end of maintenance",
    "maintenance_until",
    "PUT",
    () => `/models/${model.id}/health/config`,
    (at) => ({ maintenance_until: at }),
  ],
  [
    "the end of maintenance in a model",
    "health.maintenance_until",
    "PUT",
    () => `/models/${model.id}`,
    (at) => ({ upstream_model: "m", api_base: "", health: { maintenance_until: at } }),
  ],
  [
    "the end of maintenance of a new model",
    "health.maintenance_until",
    "POST",
    () => "/models",
    (at) => ({ model_name: fresh(), health: { maintenance_until: at } }),
  ],
];

const REFUSED: readonly unknown[] = [
  "2026-02-31T00:00:00Z",
  "2026-01-01T24:00:00Z",
  "2026-01-01T25:00:00Z",
  "2016-12-31T23:59:60Z",
  "0000-06-01T00:00:00Z",
  "2026-01-01T00:00:00+99:99",
  "2026-01-01T00:00:00",
  "2026-01-01",
  "tomorrow",
  "",
  1_767_225_600_000,
  {},
];

/** Where an answer shows what was stored. */
function shownAt(answer: unknown, field: string): unknown {
  const record = answer as Record<string, unknown>;
  const within = (record["key"] ?? record) as Record<string, unknown>;
  return field.split(".").reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], within);
}

describe.each(PLACES)("%s", (_, field, method, path, body) => {
  it("is refused by its name when it is no time, or one of a day that does not exist", async () => {
    for (const at of REFUSED) {
      const response = await control.request(method, `/api/v1${path()}`, body(at));
      expect({ at, status: response.status, body: await response.json() }).toMatchObject({
        at,
        status: 400,
        body: { error: { code: "validation_failed", param: field, details: [{ path: field }] } },
      });
    }
  });

  it("is stored and answered in UTC", async () => {
    const response = await control.request(method, `/api/v1${path()}`, body("2096-02-29T23:59:59.5+14:00"));
    expect({ status: response.status, shownAt: shownAt(await response.json(), field) }).toEqual({
      status: 200,
      shownAt: "2096-02-29T09:59:59.500Z",
    });
  });

  it("is stored and read back at both ends of what can be written", async () => {
    for (const at of ["0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"]) {
      const response = await control.request(method, `/api/v1${path()}`, body(at));
      expect({ status: response.status, shownAt: shownAt(await response.json(), field) }).toEqual({
        status: 200,
        shownAt: at,
      });
    }
  });
});

describe("a day of the daily rollup", () => {
  it.each(["start_day", "end_day"])("%s is refused by its name when the calendar does not have it", async (field) => {
    for (const day of [
      "2026-02-31",
      "2025-02-29",
      "0000-01-01",
      "2026-13-01",
      "2026-1-1",
      "2026-01-01T00:00:00Z",
      "",
    ]) {
      const response = await control.request("GET", `/api/v1/usage/daily?${field}=${day}`);
      expect({ day, status: response.status, body: await response.json() }).toMatchObject({
        day,
        status: 400,
        body: { error: { param: field } },
      });
    }
  });
});

describe("a backup", () => {
  it("is refused whole for one time of a day that does not exist, which is named", async () => {
    const file = await send<Backup>("GET", "/backup/export");
    const [row] = file.data.tenants;
    if (row === undefined) throw new Error("a tenant expected");
    const wrong = "2026-02-31T00:00:00Z";
    const files: readonly (readonly [object, string])[] = [
      [{ ...file, exported_at: wrong }, "exported_at"],
      ...(["created_at", "updated_at", "active_from", "active_until", "budget_started_at"] as const).map(
        (field): readonly [object, string] => [
          { ...file, data: { tenants: [{ ...row, [field]: wrong }] } },
          `data.tenants.0.${field}`,
        ],
      ),
    ];
    for (const [body, param] of files) {
      const response = await control.request("POST", "/api/v1/backup/restore", body);
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: { error: { param } },
      });
    }
  });
});
