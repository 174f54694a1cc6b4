/**
 * Status, schedule and allow-list of a tenant on the data plane (docs/rules/tenants.md#writes,
 * docs/rules/tenants.md#access-windows, docs/rules/errors.md#refusal-order); each change takes effect at once.
 */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";

const fixture = useGateway();
const DAY_MS = 86_400_000;
const WHOLE_WEEK = Array.from({ length: 7 }, (_, day) => ({ day, start_min: 0, end_min: 1440 }));

/** An ISO timestamp `days` days from now. */
const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();

async function answer(minted: Minted, body?: Readonly<Record<string, unknown>>): Promise<[number, unknown]> {
  const response = await fixture.gateway.chat(minted, body === undefined ? {} : { body });
  const { error } = (await response.json()) as { error?: { code: string; message: string; param: string | null } };
  return [response.status, error === undefined ? null : [error.code, error.message, error.param]];
}

/** Status and code. */
const refusal = async (minted: Minted, body?: Readonly<Record<string, unknown>>): Promise<unknown> => {
  const [status, error] = await answer(minted, body);
  return [status, Array.isArray(error) ? error[0] : null];
};

const ALWAYS_OPEN = { active_from: null, active_until: null, weekly_windows: [] };

const schedule = async (minted: Minted, body: object): Promise<unknown> =>
  await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/schedule`, { ...ALWAYS_OPEN, ...body });

describe("the schedule of a tenant", () => {
  it("refuses before its start, after its end and outside its windows, and lets in at once again", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const closedToday = WHOLE_WEEK.filter(({ day }) => day === (new Date().getUTCDay() + 3) % 7);
    expect(await answer(minted)).toEqual([200, null]);
    const steps = [
      [{ active_from: inDays(1) }, "tenant_not_started", "tenant is not active yet"],
      [{ active_until: inDays(-1) }, "tenant_expired", "tenant access has expired"],
      [{ weekly_windows: closedToday }, "outside_access_window", "tenant is outside its scheduled access window"],
      [{ active_from: inDays(1), weekly_windows: closedToday }, "tenant_not_started", "tenant is not active yet"],
    ] as const;
    for (const [body, code, message] of steps) {
      await schedule(minted, body);
      expect(await answer(minted)).toEqual([403, [code, message, null]]);
      await schedule(minted, { active_from: inDays(-1), active_until: inDays(1), weekly_windows: WHOLE_WEEK });
      expect(await answer(minted)).toEqual([200, null]);
    }
  });

  it("is counted in the tenant's own zone", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    // These two zones are a day apart: their weekdays are different at every moment.
    const [early, late] = ["Pacific/Pago_Pago", "Pacific/Kiritimati"];
    const weekday = (timeZone: string): number =>
      ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"].indexOf(
        new Intl.DateTimeFormat("en-US", { weekday: "short", timeZone }).format(new Date()),
      );
    const today = WHOLE_WEEK.filter(({ day }) => day === weekday(early));
    await schedule(minted, { timezone: early, weekly_windows: today });
    expect(await answer(minted)).toEqual([200, null]);
    await schedule(minted, { timezone: late, weekly_windows: today });
    expect((await answer(minted))[0]).toBe(403);
  });

  it("is checked after the key and the status, before anything else of the request", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    await schedule(minted, { active_until: inDays(-1) });
    expect(await refusal(minted, { model: "no-such-model" })).toEqual([403, "tenant_expired"]);
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/status`, { status: "suspended" });
    expect(await refusal(minted)).toEqual([403, "tenant_not_active"]);
    await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    expect(await refusal(minted)).toEqual([403, "api_key_disabled"]);
    expect(fixture.upstream.seen(minted.mark)).toEqual([]);
  });
});

describe("the allow-list of a tenant", () => {
  const allow = async (minted: Minted, names: readonly string[] | null): Promise<unknown> =>
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/allowlist`, { allowed_models: names });
  const refused = [403, ["model_not_permitted", "model not permitted for tenant", "model"]];

  it("permits its models only, and every model when it is empty or gone", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    expect(await answer(minted)).toEqual([200, null]);
    await allow(minted, ["another-model"]);
    expect(await answer(minted)).toEqual(refused);
    await allow(minted, [` ${minted.model.model_name} `, "another-model"]);
    expect(await answer(minted)).toEqual([200, null]);
    await allow(minted, ["another-model"]);
    expect(await answer(minted)).toEqual(refused);
    await allow(minted, []);
    expect(await answer(minted)).toEqual([200, null]);
    await allow(minted, ["another-model"]);
    await allow(minted, null);
    expect(await answer(minted)).toEqual([200, null]);
  });

  it("applies to stored answers too", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", { cache_enabled: true });
    expect(await answer(minted)).toEqual([200, null]);
    expect(await answer(minted)).toEqual([200, null]);
    await allow(minted, ["another-model"]);
    expect(await answer(minted)).toEqual(refused);
  });

  it("is checked after the model is known and enabled; the refusal leaves a row", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", { enabled: false });
    await allow(minted, ["another-model"]);
    expect(await refusal(minted, { model: "no-such-model" })).toEqual([404, "model_not_found"]);
    expect(await refusal(minted)).toEqual([403, "model_disabled"]);
    const { upstream_model, api_base } = minted.model;
    await fixture.gateway.must("PUT", `/models/${minted.model.id}`, { upstream_model, api_base, enabled: true });
    const response = await fixture.gateway.chat(minted);
    expect(response.status).toBe(403);
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      admission: "rejected",
      status_code: 403,
      model: minted.model.model_name,
      total_tokens: 0,
    });
  });
});
