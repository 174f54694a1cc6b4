/**
 * The MACs of a backup, and what happens to secrets without a matching MAC
 * (docs/rules/backup.md#secrets-belong-to-entries).
 *
 * @module-tag check
 */
import { createHmac, hkdfSync } from "node:crypto";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { importSealKey, seal, unseal } from "../../../shared/crypto/seal.ts";
import type { Backup } from "../../../shared/schema/backup.ts";
import type { Rotation } from "../../../shared/schema/rotation.ts";
import { newEncryptionKey, startControl } from "../../../test/harness/control.ts";
import { ALL, type HeldSecret, SECRETS, SecretBackup } from "../../../test/harness/secret-backup.ts";

const EVIL = "https://evil.example";
const gone: HeldSecret = { secret: null, enabled: true };
let scene: SecretBackup;
beforeAll(async () => {
  scene = await SecretBackup.start();
});
afterAll(async () => {
  await scene.close();
});
beforeEach(async () => {
  await scene.begin();
});

describe("an export", () => {
  it("has a MAC for every sealed secret, under a key derived from the encryption key", () => {
    const key = Buffer.from(hkdfSync("sha256", Buffer.from(scene.encryptionKey, "base64"), "", "gateway-backup", 32));
    const mac = (entity: string, id: string, field: string, origin: string, ciphertext: unknown) => ({
      entity,
      id,
      field,
      mac: createHmac("sha256", key)
        .update(JSON.stringify([entity, id, field, origin, ciphertext]))
        .digest("hex"),
    });
    const [single, many, heir, owner] = [
      scene.model("single"),
      scene.model("many"),
      scene.endpoint("heir"),
      scene.endpoint("owner"),
    ];
    const expected = [
      mac("models", single.id, "api_key", "https://one.example", single.api_key),
      mac("models", many.id, "api_key", "", many.api_key),
      mac("model_endpoints", heir.id, "api_key", "https://heir.example", many.api_key),
      mac("model_endpoints", owner.id, "api_key", "https://owner.example", owner.api_key),
      mac("mcp_servers", scene.mcp().id, "auth_header", "https://mcp.example", scene.mcp().auth_header),
      mac(
        "app_settings",
        "alerts",
        "slack_webhook_url",
        "https://chat.example",
        scene.setting("alerts")["slack_webhook_url"],
      ),
      mac(
        "app_settings",
        "alerts",
        "email.smtp_password",
        "smtp+starttls://mail.example:587",
        scene.email()["smtp_password"],
      ),
      mac(
        "app_settings",
        "alerts",
        `channels.${scene.channelId()}.url`,
        "https://pager.example",
        scene.channel()["url"],
      ),
      mac("app_settings", "jobsched", "token", "https://jobs.example", scene.setting("jobsched")["token"]),
    ];
    const sorted = (macs: readonly object[] = []): string[] => macs.map((entry) => JSON.stringify(entry)).sort();
    expect(sorted(scene.file.data.macs)).toEqual(sorted(expected));
  });

  it("without an encryption key has no MACs", async () => {
    const plain = await startControl({ encryptionKey: null });
    await plain.request("POST", "/api/v1/models", { model_name: "m", api_key: "k" });
    const exported = (await (await plain.request("GET", "/api/v1/backup/export")).json()) as Backup;
    expect(exported.data.macs).toEqual([]);
    await plain.close();
    expect((await scene.restored(exported)).warnings).toEqual([]);
  });
});

describe("a restore", () => {
  it("of an unchanged file keeps every secret, without a warning; so does a second restore", async () => {
    expect((await scene.restored(scene.file)).warnings).toEqual([]);
    expect((await scene.restored(scene.file)).warnings).toEqual([]);
    expect(await scene.held()).toEqual(ALL);
  });

  it("accepts the same origin in another form, and another path", async () => {
    scene.model("single").api_base = "https://ONE.example:443/other/v1";
    scene.endpoint("heir").api_base = "https://heir.example/elsewhere/v1";
    scene.mcp().upstream_url = "HTTPS://mcp.example/other";
    scene.email()["smtp_host"] = "MAIL.example";
    expect((await scene.restored(scene.file)).warnings).toEqual([]);
    expect(await scene.held()).toEqual(ALL);
  });

  it("does not keep a stored secret when the address comes from the file", async () => {
    await scene.restored(scene.file);
    scene.model("single").api_base = `${EVIL}/v1`;
    scene.mcp().upstream_url = `${EVIL}/mcp`;
    expect((await scene.restored(scene.file)).models).toEqual({ inserted: 0, updated: 2 });
    expect(await scene.held()).toMatchObject({ model: gone, mcp: gone });
  });

  it("of MACs made with another key accepts none of the secrets", async () => {
    const foreign = Buffer.from(
      hkdfSync("sha256", Buffer.from(newEncryptionKey(), "base64"), "", "gateway-backup", 32),
    );
    for (const entry of scene.file.data.macs ?? []) entry.mac = createHmac("sha256", foreign).update("x").digest("hex");
    expect((await scene.restored(scene.file)).warnings).toHaveLength(8);
    expect(await scene.held()).toMatchObject({
      model: gone,
      own: gone,
      mcp: gone,
      webhook: gone,
      channel: gone,
      mail: gone,
      token: gone,
    });
  });

  it("of an older file restores the secrets at their old addresses, because its MACs match", async () => {
    const older = structuredClone(scene.file);
    const one = `/api/v1/models/${scene.model("single").id}`;
    const moved = { upstream_model: "single", api_base: "https://two.example/v1", api_key: SECRETS.model };
    await scene.from.request("PUT", one, moved);
    const newer = (await (await scene.from.request("GET", "/api/v1/backup/export")).json()) as Backup;
    await scene.from.request("PUT", one, { ...moved, api_base: "https://one.example/v1" });
    await scene.restored(newer);
    expect((await scene.restored(older)).warnings).toEqual([]);
    expect(await scene.held()).toEqual(ALL);
    // an entry inside the other with the same secret at the same address is accepted; with the address alone it is not
    const entry = older.data.models.find((row) => row.model_name === "single");
    const mixed = newer.data.models.map((row) => (row.model_name === "single" && entry !== undefined ? entry : row));
    expect((await scene.restored({ ...newer, data: { ...newer.data, models: mixed } })).warnings).toHaveLength(1);
    const macs = [...(newer.data.macs ?? []), ...(older.data.macs ?? [])];
    expect((await scene.restored({ ...newer, data: { ...newer.data, models: mixed, macs } })).warnings).toEqual([]);
    expect(await scene.held()).toEqual(ALL);
  });
});

describe("endpoints of a model that is here and not in the scene.file", () => {
  const only = (...rows: Backup["data"]["model_endpoints"]) => ({
    ...scene.file,
    data: { model_endpoints: rows, macs: scene.file.data.macs },
  });

  it("are restored at their old address, or where the file has a MAC for the stored credential", async () => {
    await scene.restored(scene.file);
    expect((await scene.restored(only(scene.endpoint("heir"), scene.endpoint("owner")))).warnings).toEqual([]);
    await scene.to.connection.db.execute(sql`TRUNCATE model_endpoints CASCADE`);
    expect((await scene.restored(only(scene.endpoint("heir"), scene.endpoint("owner")))).warnings).toEqual([]);
    expect(await scene.held()).toEqual(ALL);
  });

  it("are restored disabled where they would send it to another origin", async () => {
    await scene.restored(scene.file);
    scene.endpoint("heir").api_base = `${EVIL}/v1`;
    scene.endpoint("owner").api_base = `${EVIL}/v1`;
    const { warnings } = await scene.restored(only(scene.endpoint("heir"), scene.endpoint("owner")));
    expect(warnings).toHaveLength(3);
    expect(await scene.held()).toMatchObject({ heir: { enabled: false }, own: { secret: null, enabled: false } });
    // the same file once more: an endpoint that was restored disabled is not trusted because of it
    expect((await scene.restored(only(scene.endpoint("heir"), scene.endpoint("owner")))).warnings.length).toBe(3);
    expect(await scene.held()).toMatchObject({ heir: { enabled: false }, own: { secret: null, enabled: false } });
  });

  it("are restored disabled with another model's credential, even at their old address", async () => {
    await scene.restored(scene.file);
    const { id } = scene.model("single");
    const { warnings } = await scene.restored(only({ ...scene.endpoint("heir"), model_id: id }));
    expect(warnings).toHaveLength(1);
    expect(await scene.held()).toMatchObject({ heir: { enabled: false } });
  });

  it("are restored unchanged where there is no credential to send", async () => {
    await scene.restored(scene.file);
    await scene.to.request("PUT", `/api/v1/models/${scene.model("many").id}`, {
      upstream_model: "many",
      api_base: "",
      api_key: "",
    });
    scene.endpoint("heir").api_base = `${EVIL}/v1`;
    expect((await scene.restored(only(scene.endpoint("heir")))).warnings).toEqual([]);
    expect(await scene.held()).toMatchObject({ heir: { enabled: true } });
  });
});

it("a file without macs, foreign or old, is restored with one warning", async () => {
  const { macs: _macs, ...data } = scene.file.data;
  for (const row of data.models) if (row.model_name === "single") row.api_base = "https://moved.example/v1";
  const { warnings } = await scene.restored({ ...scene.file, data });
  expect(warnings).toEqual([expect.stringMatching(/^the backup has no macs, /)]);
  expect(await scene.held()).toEqual(ALL);
  const { macs: _none, ...secretless } = {
    ...data,
    models: [],
    model_endpoints: [],
    mcp_servers: [],
    app_settings: [],
  } as Backup["data"];
  expect((await scene.restored({ ...scene.file, data: secretless })).warnings).toEqual([]);
});

it("refuses all secrets that cannot be opened, names each by its entry and writes nothing", async () => {
  const another = await importSealKey(newEncryptionKey());
  scene.model("single").api_key = await seal("k", another);
  scene.mcp().auth_header = "enc:v1:AAAA";
  scene.setting("jobsched")["token"] = await seal("t", another);
  const at = {
    models: scene.file.data.models.indexOf(scene.model("single")),
    jobsched: scene.file.data.app_settings.findIndex((row) => row.key === "jobsched"),
  };
  for (const macs of [scene.file.data.macs, undefined]) {
    const { macs: _given, ...data } = scene.file.data;
    const body = { ...scene.file, data: macs === undefined ? data : scene.file.data };
    const response = await scene.to.request("POST", "/api/v1/backup/restore", body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: {
        error: {
          code: "validation_failed",
          param: `data.models.${at.models}.api_key`,
          details: [
            { path: `data.models.${at.models}.api_key`, message: expect.stringContaining("model 'single'") },
            { path: "data.mcp_servers.0.auth_header", message: expect.stringContaining("mcp server 'tools'") },
            {
              path: `data.app_settings.${at.jobsched}.value.token`,
              message: expect.stringContaining("setting 'jobsched'"),
            },
          ],
        },
      },
    });
  }
  expect(await scene.to.connection.db.execute(sql`SELECT count(*)::int AS n FROM models`)).toMatchObject({
    rows: [{ n: 0 }],
  });
});

it("text that is not a MAC is refused, named by its position", async () => {
  for (const mac of ["", "x".repeat(64), "AB".repeat(32), 5]) {
    const macs = [{ entity: "models", id: "x", field: "api_key", mac }];
    const response = await scene.to.request("POST", "/api/v1/backup/restore", {
      ...scene.file,
      data: { ...scene.file.data, macs },
    });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param: "data.macs.0.mac" } },
    });
  }
});

it("restores the file of an old key whole, and seals its secrets with the current one", async () => {
  const target = await startControl({ encryptionKey: newEncryptionKey(), oldKeys: [scene.encryptionKey] });
  try {
    const response = await target.request("POST", "/api/v1/backup/restore", scene.file);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 200,
      body: { warnings: [] },
    });
    const { sealKey } = target.ctx;
    const { data } = await target.must<Backup>("GET", "/backup/export");
    const model = data.models.find(({ model_name }) => model_name === "single")?.api_key ?? "";
    const opened = sealKey === undefined ? "" : await unseal(model, { ...sealKey, old: [] });
    expect({ opened, left: (await target.must<Rotation>("GET", "/rotation")).encryption_key }).toEqual({
      opened: SECRETS.model,
      left: { old_keys: 1, records_left: 0 },
    });
  } finally {
    await target.close();
  }
});
