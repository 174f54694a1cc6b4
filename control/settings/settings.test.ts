/** @module-tag check */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { settingsRecordSchema, storeKeys } from "../../shared/records.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Backup } from "../../shared/schema/backup.ts";
import type { Boons } from "../../shared/schema/settings/boons.ts";
import type { Energy } from "../../shared/schema/settings/energy.ts";
import type { ListedSetting } from "../../shared/schema/settings/listed.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { buildSettings } from "../publish/settings-copies.ts";
import { unfitSettings } from "./list-settings.ts";
import { seedSettings } from "./seed-settings.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

async function put<T>(name: string, body: unknown): Promise<T> {
  const response = await control.request("PUT", `/api/v1/settings/${name}`, body);
  expect({ status: response.status, "x-gateway-sync": response.headers.get("x-gateway-sync") }).toEqual({
    status: 200,
    "x-gateway-sync": null,
  });
  return await withoutRev<T>(response);
}

async function get<T>(name: string): Promise<T> {
  return await withoutRev<T>(await control.request("GET", `/api/v1/settings/${name}`));
}

/** What a setting says, without its revision. */
async function withoutRev<T>(response: Response): Promise<T> {
  const { rev: _rev, ...value } = (await response.json()) as { rev?: number };
  return value as T;
}

async function lastAudit(): Promise<AuditEntry | undefined> {
  return ((await (await control.request("GET", "/api/v1/audit?limit=1")).json()) as AuditEntry[])[0];
}

const BOONS: Omit<Boons, "rev"> = {
  vision_enabled: false,
  vision_fallback_model: null,
  vision_describe_prompt:
    "Describe this image in detail for a reader who cannot see it. Quote all visible text exactly.",
  vision_max_images: 6,
  vision_timeout_ms: 30_000,
  structured_output_enabled: false,
  structured_output_fixer_model: null,
  structured_output_max_repair_attempts: 1,
  structured_output_timeout_ms: 30_000,
  tool_loop_enabled: false,
  tool_loop_max_turns: 4,
  tool_loop_tool_timeout_ms: 30_000,
  tool_loop_nudge: "Tools are available. Call them when they help to answer correctly; otherwise answer directly.",
  compression_enabled: false,
  compression_min_tokens: 128,
  compression_max_segments: 64,
  compression_max_lossy_segments: 4,
  compression_original_ttl_secs: 3600,
  compression_code_compaction: false,
  compression_dedup: false,
  compression_allow_lossy: false,
  compression_neural_keep_ratio: 0.5,
};

describe("a stored value that the setting cannot have", () => {
  it("counts as absent: in reads, hot copies and exports, and a start names it", async () => {
    const { db } = control.connection;
    await db.execute(sql`INSERT INTO app_settings (key, value, rev) VALUES
      ('usage_retention', '{"days": -5}', 1),
      ('boons', '{"vision_max_images": -1, "vision_enabled": true}', 1),
      ('energy', '{"poll_interval_secs": 0, "pue": 2}', 1)`);
    try {
      expect(await get("usage-retention")).toMatchObject({ days: 180 });
      expect(await get("boons")).toMatchObject({ vision_max_images: 6, vision_enabled: true });
      expect(await get("energy")).toMatchObject({ poll_interval_secs: 60, pue: 2 });
      const copies = await buildSettings(db, ["boons", "energy"]);
      expect([...copies.values()].map(({ value }) => value)).toEqual([{ vision_enabled: true }, { pue: 2 }]);
      const file = (await (await control.request("GET", "/api/v1/backup/export")).json()) as Backup;
      expect(Object.fromEntries(file.data.app_settings.map(({ key, value }) => [key, value]))).toEqual({
        usage_retention: {},
        boons: { vision_enabled: true },
        energy: { pue: 2 },
      });
      expect(await unfitSettings(control.ctx)).toEqual(
        expect.arrayContaining([
          { setting: "usage_retention", reason: "days must be a whole number from 1 to 36500" },
          { setting: "boons", reason: "vision_max_images must be a whole number from 1 to 32" },
          { setting: "energy", reason: "poll_interval_secs must be a whole number of at least 5" },
        ]),
      );
    } finally {
      await db.execute(sql`DELETE FROM app_settings`);
    }
  });
});

describe("settings", () => {
  it("start with the documented defaults", async () => {
    expect(await get("usage-retention")).toEqual({ days: 180, configured: false });
    expect(await get("auto-router")).toEqual({
      classifier_enabled: false,
      classifier_model: null,
      classifier_timeout_ms: 250,
      available_tags: [],
    });
    expect(await get("boons")).toEqual(BOONS);
    expect(await get("alerts")).toEqual({ slack_webhook_set: false, min_interval_secs: 300, email: null });
    expect(await get("energy")).toEqual({
      enabled: false,
      prometheus_url: "",
      power_query: "",
      poll_interval_secs: 60,
      energy_cost_per_kwh: 0,
      carbon_g_per_kwh: 0,
      pue: 1,
      last_reading: null,
    });
    expect(await get("jobsched")).toEqual({
      enabled: false,
      url: "",
      api_version: "v0.0.40",
      user: "",
      token_set: false,
      token_last4: null,
      provisioner_running: false,
      provisioner_last_seen_secs: null,
      last_outcome: null,
      last_error: null,
      node_aliases: [],
    });
    expect(await get("assistant")).toEqual({
      enabled: true,
      brain_model: null,
      tools_enabled: {},
      bench_max_concurrency: 40,
      bench_max_duration_s: 120,
      bench_max_requests: 500,
    });
    expect(await get("compressor")).toEqual({
      configured: false,
      url: "",
      reachable: false,
      model: null,
      revision: null,
      error: null,
    });
  });

  it("of retention are saved, and say so", async () => {
    expect(await put("usage-retention", { days: 30 })).toEqual({ days: 30, configured: true });
    expect(await get("usage-retention")).toEqual({ days: 30, configured: true });
    expect(await lastAudit()).toMatchObject({
      action: "set_usage_retention",
      entity_type: "settings",
      entity_id: "usage_retention",
      detail: { changed: { days: [null, 30] } },
    });
  });

  it("of the auto router merge; clearing the model turns the classifier off", async () => {
    for (const [model_name, tags, more] of [
      ["a", ["math", "fast"], {}],
      ["b", ["fast", "coding"], {}],
      ["c", ["hidden"], { enabled: false }],
      ["d", ["vector"], { model_type: "embedding" }],
    ] as const)
      await control.request("POST", "/api/v1/models", { model_name, tags, ...more });
    const on = { classifier_enabled: true, classifier_model: " tiny ", classifier_timeout_ms: 90 };
    const available_tags = ["coding", "fast", "math"];
    const saved = { classifier_enabled: true, classifier_model: "tiny", classifier_timeout_ms: 90, available_tags };
    expect(await put("auto-router", on)).toMatchObject(saved);
    expect(await put("auto-router", { classifier_timeout_ms: 0 })).toEqual(saved);
    const off = { ...saved, classifier_enabled: false, classifier_model: null };
    expect(await put("auto-router", { classifier_enabled: true, classifier_model: "" })).toEqual(off);
    expect(await get("auto-router")).toEqual(off);
    expect(await lastAudit()).toMatchObject({
      action: "set_auto_router_settings",
      entity_type: "settings",
      entity_id: "auto_router",
      detail: { changed: { classifier_enabled: [true, false], classifier_model: ["tiny", null] } },
    });
  });

  it("of boons keep what is omitted, zero or blank, and cap what is capped", async () => {
    const changed = { ...BOONS, vision_enabled: true, vision_fallback_model: "eyes", vision_max_images: 32 };
    expect(
      await put("boons", { vision_enabled: true, vision_fallback_model: "eyes", vision_max_images: 32 }),
    ).toMatchObject(changed);
    const zeros = Object.fromEntries(
      Object.entries(BOONS)
        .filter(([, value]) => typeof value === "number")
        .map(([field]) => [field, 0]),
    );
    expect(await put("boons", { ...zeros, vision_describe_prompt: " " })).toEqual(changed);
    expect(
      await put("boons", {
        structured_output_max_repair_attempts: 9,
        tool_loop_max_turns: 99,
        tool_loop_nudge: "Use tools.",
        compression_neural_keep_ratio: 1,
        vision_fallback_model: "",
      }),
    ).toEqual({
      ...changed,
      structured_output_max_repair_attempts: 3,
      tool_loop_max_turns: 8,
      tool_loop_nudge: "Use tools.",
      compression_neural_keep_ratio: 1,
      vision_fallback_model: null,
    });
    expect(await put("boons", { tool_loop_nudge: "" })).toMatchObject({ tool_loop_nudge: BOONS.tool_loop_nudge });
    expect(await lastAudit()).toMatchObject({
      action: "set_boon_settings",
      entity_type: "settings",
      entity_id: "boons",
      detail: { changed: { tool_loop_nudge: ["Use tools.", BOONS.tool_loop_nudge] } },
    });
    expect(control.cell.items.at(-1)).toMatchObject({ kind: "settings", id: "boons" });
  });

  it("of the assistant merge field by field", async () => {
    expect(await put("assistant", { tools_enabled: { a: false }, brain_model: "m", bench_max_requests: 1 })).toEqual({
      enabled: true,
      brain_model: "m",
      tools_enabled: { a: false },
      bench_max_concurrency: 40,
      bench_max_duration_s: 120,
      bench_max_requests: 1,
    });
    expect(await put("assistant", { tools_enabled: {}, brain_model: null })).toMatchObject({
      tools_enabled: {},
      brain_model: null,
      bench_max_requests: 1,
    });
    expect(await lastAudit()).toMatchObject({
      action: "set_assistant_settings",
      entity_id: "assistant",
      detail: { changed: { "tools_enabled.a": [false, null], brain_model: ["m", null] } },
    });
  });

  it("that are changed at the same time lose nothing of each other", async () => {
    const fields = Object.keys(BOONS).filter(
      (field) => field.endsWith("_enabled") || field.startsWith("compression_max"),
    );
    const wanted = Object.fromEntries(fields.map((field) => [field, field.endsWith("_enabled") ? true : 7]));
    await Promise.all(Object.entries(wanted).map(async ([field, value]) => await put("boons", { [field]: value })));
    expect(await get("boons")).toMatchObject(wanted);
  });

  it("that the cells know are published to them, others are not", async () => {
    control.cell.items.length = 0;
    await put("usage-retention", { days: 31 });
    await put("assistant", { enabled: false });
    await put("alerts", { min_interval_secs: 5 });
    await put("jobsched", { user: "u" });
    expect(control.cell.items).toEqual([]);
    await put("auto-router", { classifier_timeout_ms: 5 });
    await put("energy", { pue: 1.5 });
    expect(control.cell.items.map(({ kind, id }) => [kind, id])).toEqual([
      ["settings", "auto_router"],
      ["settings", "energy"],
    ]);
    const [text] = await control.store.get([storeKeys.settings("energy")]);
    const copy = settingsRecordSchema.parse(JSON.parse(text ?? "null"));
    const { last_reading: _, ...value } = await get<Energy>("energy");
    expect(copy).toEqual({ v: 1, value, rev: control.cell.items.at(-1)?.rev });
  });

  it.each([
    ["usage-retention", {}, "days"],
    ["usage-retention", { days: 0 }, "days"],
    ["usage-retention", { days: 36_501 }, "days"],
    ["usage-retention", { days: "7" }, "days"],
    ["auto-router", { classifier_enabled: "on" }, "classifier_enabled"],
    ["auto-router", { classifier_timeout_ms: 10_001 }, "classifier_timeout_ms"],
    ["auto-router", { classifier_timeout_ms: -1 }, "classifier_timeout_ms"],
    ["auto-router", { classifier_model: 5 }, "classifier_model"],
    ["boons", { vision_enabled: 1 }, "vision_enabled"],
    ["boons", { vision_max_images: 33 }, "vision_max_images"],
    ["boons", { vision_timeout_ms: -1 }, "vision_timeout_ms"],
    ["boons", { tool_loop_max_turns: -1 }, "tool_loop_max_turns"],
    ["boons", { compression_min_tokens: 1.5 }, "compression_min_tokens"],
    ["boons", { compression_neural_keep_ratio: 1.1 }, "compression_neural_keep_ratio"],
    ["boons", { compression_neural_keep_ratio: -0.1 }, "compression_neural_keep_ratio"],
    ["boons", { tool_loop_nudge: null }, "tool_loop_nudge"],
    ["assistant", { bench_max_concurrency: 257 }, "bench_max_concurrency"],
    ["assistant", { bench_max_duration_s: 0 }, "bench_max_duration_s"],
    ["assistant", { bench_max_requests: 20_001 }, "bench_max_requests"],
    ["assistant", { tools_enabled: { a: "no" } }, "tools_enabled.a"],
    ["assistant", { tools_enabled: [] }, "tools_enabled"],
  ])("%s refuses %j by naming %s, and changes nothing", async (name, body, field) => {
    const before = await get(name);
    const response = await control.request("PUT", `/api/v1/settings/${name}`, body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: field } },
    });
    expect(await get(name)).toEqual(before);
  });
});

describe("the list of settings", () => {
  let fresh: TestControl;
  beforeAll(async () => {
    fresh = await startControl();
  });
  afterAll(async () => {
    await fresh.close();
  });
  const listed = async (): Promise<Readonly<Record<string, Omit<ListedSetting, "name">>>> => {
    const rows = (await (await fresh.request("GET", "/api/v1/settings")).json()) as ListedSetting[];
    return Object.fromEntries(rows.map(({ name, ...rest }) => [name, rest]));
  };

  it("says where each value comes from, since when, and who saved it", async () => {
    const unsaved = { source: "default", saved_at: null, saved_by: null };
    expect(await listed()).toEqual({
      alerts: unsaved,
      usage_retention: { ...unsaved, source: "environment" },
      auto_router: unsaved,
      boons: unsaved,
      energy: unsaved,
      jobsched: unsaved,
      assistant: unsaved,
    });
    await seedSettings({ ...fresh.ctx, actor: "system" }, { alerts: { min_interval_secs: 60 }, auto_router: {} });
    await fresh.request("PUT", "/api/v1/settings/usage-retention", { days: 30 });
    const saved_at = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    expect(await listed()).toMatchObject({
      alerts: { source: "environment", saved_at, saved_by: "system" },
      usage_retention: { source: "saved", saved_at, saved_by: "admin" },
      boons: unsaved,
    });
  });

  it("names nobody for a setting that a backup has brought", async () => {
    await fresh.request("PUT", "/api/v1/settings/usage-retention", { days: 30 });
    await fresh.connection.db.execute(sql`UPDATE audit_log SET ts = ts - interval '1 hour'`);
    expect((await listed())["usage_retention"]).toMatchObject({ source: "saved", saved_by: null });
  });
});
