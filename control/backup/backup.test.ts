/** @module-tag check */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { hashKeySecret } from "../../shared/access/api-key.ts";
import { importSealKey, seal, unseal } from "../../shared/crypto/seal.ts";
import { GatewayError } from "../../shared/errors.ts";
import { storeKeys } from "../../shared/records.ts";
import type { RestoreDifferences, RestoreReport } from "../../shared/schema/backup.ts";
import { BACKUP_ENTITIES, type Backup } from "../../shared/schema/backup.ts";
import { newEncryptionKey, startControl, type TestControl } from "../../test/harness/control.ts";
import { type FullConfiguration, fillConfiguration } from "../../test/harness/full-configuration.ts";
import { UNPROVEN } from "../../test/harness/secret-backup.ts";
import type { VerbContext } from "../kernel/context.ts";
import { restoreBackup } from "./restore-backup.ts";

const encryptionKey = newEncryptionKey();
/** One with everything, one that is empty before each test. */
let from: TestControl;
let to: TestControl;
let full: FullConfiguration;
/** The same from a service without an encryption key. */
let unencrypted: Backup;
let file: Backup;

beforeAll(async () => {
  from = await startControl({ encryptionKey });
  to = await startControl({ encryptionKey });
  full = await fillConfiguration(from);
  const plain = await startControl({ encryptionKey: null });
  await fillConfiguration(plain);
  unencrypted = await exported(plain);
  await plain.close();
});
afterAll(async () => {
  await from.close();
  await to.close();
});
beforeEach(async () => {
  const { db } = to.connection;
  await db.execute(
    sql`TRUNCATE tenants, api_keys, models, model_endpoints, model_health, mcp_servers, app_settings, model_health_checks, audit_log CASCADE`,
  );
  await db.execute(sql`DELETE FROM fairshare_groups WHERE name <> 'default'`);
  await to.resync.all();
  to.cell.items.length = 0;
  file = await exported(from);
});

async function exported(control: TestControl): Promise<Backup> {
  const response = await control.request("GET", "/api/v1/backup/export");
  expect(response.status).toBe(200);
  return (await response.json()) as Backup;
}

const restore = async (input: unknown) => await to.request("POST", "/api/v1/backup/restore", input);

/** Restores as a service that differs from `to` in these; the report, or the error's body. */
async function restoreAs(difference: Partial<VerbContext>, input: unknown): Promise<unknown> {
  try {
    return (await restoreBackup({ ...to.ctx, ...difference }, input)).record;
  } catch (error) {
    if (error instanceof GatewayError) return error.body;
    throw error;
  }
}

/** Everything that the database holds, but when it was written and under which revision. */
async function contents(control: TestControl): Promise<string> {
  return JSON.stringify((await exported(control)).data);
}

it("exports what is configured, credentials as they are stored, and says so in the audit log", async () => {
  const response = await from.request("GET", "/api/v1/backup/export");
  expect(response.headers.get("content-disposition")).toMatch(
    /^attachment; filename="gateway-backup-\d{8}T\d{6}Z\.json"$/,
  );
  const text = await response.text();
  for (const credential of Object.values(full.credentials)) expect(text).not.toContain(credential);
  const { data, mac, ...head } = JSON.parse(text) as Backup;
  expect({ ...head, macLength: mac?.length }).toEqual({
    macLength: 64,
    format: "gateway-config-backup",
    version: 1,
    exported_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    gateway_version: "0.0.0",
    encryption: {
      cipher_enabled: true,
      key_check: expect.stringMatching(/^enc:v1:/) as string,
      api_key_pepper_set: false,
    },
  });
  const counts = Object.fromEntries(BACKUP_ENTITIES.map((entity) => [entity, data[entity].length]));
  expect(Object.entries(counts).filter(([, count]) => count === 0)).toEqual([]);
  expect(await newestAudit(from)).toMatchObject({ action: "export_backup", entity_type: "gateway", detail: counts });
});

it("reproduces a full gateway in an empty one, where its keys work", async () => {
  const response = await restore(file);
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 200,
    body: {
      tenants: { inserted: 2, updated: 0 },
      fairshare_groups: { inserted: 1, updated: 1 },
      warnings: [],
      source_exported_at: file.exported_at,
      source_gateway_version: "0.0.0",
    },
  });
  expect(await newestAudit(to)).toMatchObject({
    action: "restore_backup",
    detail: { tenants: { inserted: 2 }, source_gateway_version: "0.0.0", warnings: [] },
  });
  expect(to.cell.items).toContainEqual(expect.objectContaining({ kind: "all", id: "*" }));
  expect(await contents(to)).toBe(JSON.stringify(file.data));

  const name = storeKeys.key(hashKeySecret(full.secret, undefined));
  const models = ["full-model", "plain-model"].map(storeKeys.model);
  const settings = (["boons", "auto_router"] as const).map(storeKeys.settings);
  for (const hotKey of [name, ...models, storeKeys.mcp("tools"), ...settings]) {
    const [there, here] = [await copyOf(from, hotKey), await copyOf(to, hotKey)];
    expect(here).toEqual(there);
    expect(here).not.toBeNull();
  }

  const again = await restore(file);
  expect({ status: again.status, body: await again.json() }).toMatchObject({
    status: 200,
    body: { tenants: { inserted: 0, updated: 2 } },
  });
  expect(await contents(to)).toBe(JSON.stringify(file.data));
});

it("merges: updates what has the same id, exchanges names, leaves alone what is only here", async () => {
  await restore(file);
  const [one, other] = file.data.tenants;
  const model = file.data.models.find((row) => row.model_name === "plain-model");
  if (one === undefined || other === undefined || model === undefined)
    throw new Error("two tenants and a model expected");
  await to.request("POST", "/api/v1/tenants", { name: "Only here" });
  const made = await to.request("POST", `/api/v1/tenants/${one.id}/keys`, {});
  const { secret } = (await made.json()) as { secret: string };
  [one.name, other.name] = [other.name, one.name];
  one.weight = 99;
  model.model_name = "renamed-model";
  expect((await restore(file)).status).toBe(200);

  const listed = (await (await to.request("GET", "/api/v1/tenants")).json()) as { name: string }[];
  expect(listed.map((row) => row.name).sort()).toEqual(["Full", "Only here", "Plain"]);
  expect(await copyOf(to, storeKeys.key(hashKeySecret(secret, undefined)))).toMatchObject({
    tenant: { id: one.id, name: one.name, weight: 99 },
  });
  expect(await copyOf(to, storeKeys.model("plain-model"))).toBeNull();
  expect(await copyOf(to, storeKeys.model("renamed-model"))).toMatchObject({ id: model.id });
});

describe("a dry run", () => {
  const dryRun = async (input: unknown) => await to.request("POST", "/api/v1/backup/restore?dry_run=true", input);
  const differencesOf = async (input: unknown): Promise<RestoreDifferences> => {
    const response = await dryRun(input);
    const { differences } = (await response.json()) as RestoreReport;
    if (differences === undefined) throw new Error(`no differences: ${response.status}`);
    return differences;
  };

  it("adds everything to an empty gateway, and changes nothing", async () => {
    const before = await contents(to);
    const differences = await differencesOf(file);
    for (const entity of BACKUP_ENTITIES) {
      const { added, changed, unchanged, objects } = differences[entity];
      expect({ entity, count: added + changed + unchanged }).toEqual({ entity, count: file.data[entity].length });
      expect(objects).toHaveLength(added + changed);
    }
    expect(differences.tenants).toMatchObject({
      added: 2,
      only_here: 0,
      objects: expect.arrayContaining([{ name: "Full", change: "added", fields: {} }]) as unknown,
    });
    expect(await contents(to)).toBe(before);
    expect(await newestAudit(to)).toMatchObject({ action: "export_backup" });
    expect(to.cell.items).toEqual([]);
  });

  it("says which fields would change, and of secrets only that they would", async () => {
    await restore(file);
    await to.request("POST", "/api/v1/tenants", { name: "Only here" });
    const before = await contents(to);
    expect(await differencesOf(file)).toMatchObject(
      Object.fromEntries(BACKUP_ENTITIES.map((entity) => [entity, { added: 0, changed: 0, objects: [] }])),
    );
    const tenant = file.data.tenants.find(({ name }) => name === "Full");
    const server = file.data.mcp_servers[0];
    const alerts = file.data.app_settings.find(({ key }) => key === "alerts");
    if (tenant === undefined || server === undefined || alerts === undefined) throw new Error("rows expected");
    tenant.weight = 99;
    tenant.description = "d".repeat(2000);
    server.auth_header = "Bearer another";
    alerts.value["min_interval_secs"] = 7;
    const text = await (await dryRun(file)).text();
    expect(text).not.toContain("another");
    const { differences, warnings } = JSON.parse(text) as RestoreReport;
    expect(warnings).toEqual([UNPROVEN]);
    expect(differences?.tenants).toMatchObject({ added: 0, changed: 1, unchanged: 1, only_here: 1 });
    expect(differences?.tenants.objects[0]).toMatchObject({
      name: "Full",
      fields: { weight: [expect.any(Number), 99] },
    });
    expect(JSON.stringify(differences).length).toBeLessThan(2000);
    expect(differences?.mcp_servers.objects[0]?.fields).toEqual({ auth_header: "changed" });
    expect(differences?.app_settings.objects).toEqual([
      { name: "alerts", change: "changed", fields: { min_interval_secs: [expect.any(Number), 7] } },
    ]);
    expect(await contents(to)).toBe(before);
  });

  it("refuses what the restore would refuse, and another word than true or false", async () => {
    const [one] = file.data.tenants;
    if (one === undefined) throw new Error("a tenant expected");
    const other = await to.request("POST", "/api/v1/tenants", { name: one.name });
    expect(other.status).toBe(200);
    const refused = await dryRun(file);
    const really = await restore(file);
    expect({ status: refused.status, body: await refused.json() }).toEqual({ status: 409, body: await really.json() });
    const asked = await to.request("POST", "/api/v1/backup/restore?dry_run=yes", file);
    expect({ status: asked.status, body: await asked.json() }).toMatchObject({
      status: 400,
      body: { error: { param: "dry_run" } },
    });
    const before = await contents(to);
    for (const name of ["dryrun", "dry_run ", "DRY_RUN", "toString"]) {
      const misspelt = await to.request("POST", `/api/v1/backup/restore?${encodeURIComponent(name)}=true`, file);
      expect({ status: misspelt.status, body: await misspelt.json() }).toMatchObject({
        status: 400,
        body: { error: { param: name } },
      });
    }
    expect(await contents(to)).toBe(before);
  });
});

it("publishes the model of a restored endpoint although only the endpoint is in the file", async () => {
  await restore(file);
  const [endpoint] = file.data.model_endpoints;
  if (endpoint === undefined) throw new Error("an endpoint expected");
  endpoint.weight = 77;
  expect((await restore({ ...file, data: { model_endpoints: [endpoint] } })).status).toBe(200);
  expect(await copyOf(to, storeKeys.model("full-model"))).toMatchObject({ endpoints: [{ name: "north", weight: 77 }] });
});

it.each([
  ["the same key", "same", undefined],
  ["another key", "other", "backup_key_mismatch"],
  ["no key here", "none", "backup_key_missing"],
] as const)("an encrypted backup with %s", async (_, target, code) => {
  const sealKey = { same: to.ctx.sealKey, other: await importSealKey(newEncryptionKey()), none: undefined }[target];
  const withoutSentinel = { ...file, encryption: { ...file.encryption, cipher_enabled: false, key_check: null } };
  const before = await contents(to);
  for (const variant of [file, withoutSentinel]) {
    const answer = (await restoreAs({ sealKey }, variant)) as { error?: { code: string } };
    expect(answer.error?.code).toBe(code);
  }
  if (code !== undefined) expect(await contents(to)).toBe(before);
});

it.each([
  ["nor here: it stays plain", false],
  ["but here: it is sealed", true],
])("a backup without encryption there, %s", async (_, sealed) => {
  const { credentials } = full;
  expect(unencrypted.encryption).toEqual({ cipher_enabled: false, key_check: null, api_key_pepper_set: false });
  expect(JSON.stringify(unencrypted)).toContain(credentials.model);
  const report = await restoreAs(sealed ? {} : { sealKey: undefined }, unencrypted);
  expect(report).toMatchObject({ models: { inserted: 2 } });
  const { data } = await exported(to);
  const stored = [
    data.models.find((row) => row.model_name === "full-model")?.api_key,
    data.model_endpoints[0]?.api_key,
    data.mcp_servers[0]?.auth_header,
    data.app_settings.find((row) => row.key === "alerts")?.value["slack_webhook_url"],
  ].map(String);
  for (const secret of stored) expect(secret.startsWith("enc:v1:")).toBe(sealed);
  expect(await Promise.all(stored.map(async (secret) => await unseal(secret, to.ctx.sealKey)))).toEqual(
    Object.values(credentials),
  );
});

it("warns of another pepper only where there are keys", async () => {
  expect(await restoreAs({ pepper: "p" }, file)).toMatchObject({
    warnings: [
      "api key pepper differs from the backup; restored keys will not authenticate until it matches or keys are rotated",
    ],
  });
  const without = { ...file, data: { ...file.data, api_keys: [] } };
  expect(await restoreAs({ pepper: "p" }, without)).toMatchObject({ warnings: [UNPROVEN] });
});

it.each([
  ["models", "api_base", "model 'full-model': api_base resolves to a blocked address"],
  ["model_endpoints", "api_base", "model endpoint 'north': api_base resolves to a blocked address"],
  ["mcp_servers", "upstream_url", "mcp server 'tools': upstream_url resolves to a blocked address"],
] as const)(
  "refuses a blocked address of %s by naming the entry, and writes nothing",
  async (entity, field, message) => {
    file.data.models.sort((one) => (one.model_name === "full-model" ? -1 : 1));
    (file.data[entity][0] as Record<string, unknown>)[field] = "http://metadata.test/v1";
    const before = await contents(to);
    const resolve = async (host: string) =>
      await Promise.resolve(host === "metadata.test" ? ["169.254.169.254"] : ["10.1.1.1"]);
    expect(await restoreAs({ resolve }, file)).toMatchObject({
      error: { code: "address_blocked", message, param: `data.${entity}.0.${field}` },
    });
    expect(await contents(to)).toBe(before);
  },
);

it("refuses a blocked address of the alerts' webhook", async () => {
  const at = file.data.app_settings.findIndex((row) => row.key === "alerts");
  const value = { slack_webhook_url: await seal("http://169.254.1.1/hook", from.ctx.sealKey) };
  file.data.app_settings[at] = { key: "alerts", value };
  expect(await restoreAs({}, file)).toMatchObject({
    error: {
      message: "setting 'alerts': slack_webhook_url resolves to a blocked address",
      param: `data.app_settings.${at}.value.slack_webhook_url`,
    },
  });
});

it("refuses other formats, malformed or duplicate rows and dangling references; writes nothing", async () => {
  await restore(file);
  const before = await contents(to);
  const { data } = file;
  const [key, tenant] = [data.api_keys[0], data.tenants[0]];
  const stranger = "00000000-0000-4000-8000-000000000000";
  const refused: readonly (readonly [unknown, string, string | null])[] = [
    [{}, "backup_format", null],
    [[], "backup_format", null],
    [{ ...file, version: 2 }, "backup_format", null],
    [{ ...file, format: "other" }, "backup_format", null],
    [{ ...file, data: { ...data, tenants: [{ ...tenant, weight: 0 }] } }, "validation_failed", "data.tenants.0.weight"],
    [
      { ...file, data: { app_settings: [{ key: "usage_retention", value: { days: "x" } }] } },
      "validation_failed",
      "data.app_settings.0.value.days",
    ],
    [{ ...file, data: { ...data, tenants: [tenant, tenant] } }, "validation_failed", "data.tenants.1.id"],
    [
      { ...file, data: { ...data, api_keys: [{ ...key, tenant_id: stranger }] } },
      "validation_failed",
      "data.api_keys.0.tenant_id",
    ],
    [
      { ...file, data: { ...data, tenants: [{ ...tenant, fairshare_group: "x" }] } },
      "validation_failed",
      "data.tenants.0.fairshare_group",
    ],
  ];
  for (const [input, code, param] of refused) {
    const response = await restore(input);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code, param } },
    });
  }
  const path = "data.tenants.0.name";
  const message = `belongs here to the tenant with id ${tenant?.id}: rename or delete that one, or change the file`;
  const clash = { ...file, data: { ...data, tenants: [{ ...tenant, id: stranger }], api_keys: [] } };
  const response = await restore(clash);
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 409,
    body: {
      error: {
        code: "already_exists",
        message: `tenant '${tenant?.name}' already exists`,
        param: path,
        details: [{ path, message }],
      },
    },
  });
  expect(await contents(to)).toBe(before);
});

it("takes a body above that of other routes, and none above 64 MiB", async () => {
  const padded = `${JSON.stringify(file)}${" ".repeat(3 * 1024 * 1024)}`;
  expect((await restore(padded)).status).toBe(200);
  const oversize = await restore({ ...file, padding: "x".repeat(64 * 1024 * 1024) });
  expect({ status: oversize.status, body: await oversize.json() }).toMatchObject({
    status: 413,
    body: { error: { code: "request_too_large" } },
  });
});

async function newestAudit(control: TestControl): Promise<unknown> {
  const [entry] = (await (await control.request("GET", "/api/v1/audit?limit=1")).json()) as unknown[];
  return entry;
}

/** A hot copy without its revisions; null when there is none. */
async function copyOf(control: TestControl, hotKey: string): Promise<unknown> {
  const [text] = await control.store.get([hotKey]);
  return JSON.parse(text ?? "null", (name, value: unknown) => (/(^|_)rev$/.test(name) ? undefined : value));
}
