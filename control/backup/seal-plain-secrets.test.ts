/**
 * Credentials that were stored before there was an encryption key: the first start with a key seals them, they open to the
 * same text, and the cells learn of the change.
 *
 * @module-tag check
 */
import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, expect, it } from "vitest";
import { importSealKey, isSealedWithOld, unseal } from "../../shared/crypto/seal.ts";
import { newEncryptionKey, startControl, type TestControl } from "../../test/harness/control.ts";
import { checkEncryptionKey } from "../kernel/encryption/encryption-check.ts";
import { resealSecrets, sealPlainSecrets } from "./seal-plain-secrets.ts";

let control: TestControl;

beforeEach(async () => {
  control = await startControl({ encryptionKey: null });
});
afterEach(async () => {
  await control.close();
});

const stored = async (): Promise<readonly string[]> => {
  const { rows } = (await control.connection.db.execute(sql`
    SELECT api_key AS text FROM models WHERE api_key IS NOT NULL
    UNION ALL SELECT api_key FROM model_endpoints WHERE api_key IS NOT NULL
    UNION ALL SELECT auth_header FROM mcp_servers
    UNION ALL SELECT value->>'token' FROM app_settings WHERE key = 'jobsched'`)) as unknown as {
    rows: { text: string }[];
  };
  return rows.map(({ text }) => text).sort();
};

it("seals plaintext credentials once, and records it in the audit log", async () => {
  const put = async (method: string, path: string, body: unknown): Promise<{ id: string }> => {
    const response = await control.request(method, path, body);
    expect({ path, status: response.status }).toEqual({ path, status: 200 });
    return (await response.json()) as { id: string };
  };
  const model = await put("POST", "/api/v1/models", { model_name: "m", api_key: "plain-1" });
  await put("POST", "/api/v1/models", { model_name: "without" });
  await put("POST", `/api/v1/models/${model.id}/endpoints`, {
    name: "e",
    api_base: "http://127.0.0.1:9/v1",
    api_key: "plain-2",
  });
  await put("POST", "/api/v1/mcp-servers", { name: "s", upstream_url: "http://127.0.0.1/mcp", auth_header: "plain-3" });
  await put("PUT", "/api/v1/settings/jobsched", { token: "plain-4-of-some-length" });
  const plain = await stored();
  expect(plain).toEqual(["plain-1", "plain-2", "plain-3", "plain-4-of-some-length"]);
  expect(await sealPlainSecrets(control.ctx)).toEqual({});

  const sealKey = await importSealKey(randomBytes(32).toString("base64"));
  const ctx = { ...control.ctx, sealKey };
  control.cell.items.length = 0;
  expect(await sealPlainSecrets(ctx)).toEqual({ models: 1, model_endpoints: 1, mcp_servers: 1, app_settings: 1 });
  const sealed = await stored();
  expect(sealed.every((text) => text.startsWith("enc:v1:"))).toBe(true);
  expect((await Promise.all(sealed.map(async (text) => await unseal(text, sealKey)))).sort()).toEqual(plain);
  expect([...new Set(control.cell.items.map(({ kind, id }) => `${kind} ${id}`))].sort()).toEqual(["mcp s", "model m"]);
  const copies = await control.store.get(["model:m", "model:without", "mcp:s"]);
  expect(copies.map((copy) => copy?.includes("plain-"))).toEqual([false, false, false]);

  expect(await sealPlainSecrets(ctx)).toEqual({});
  expect(await stored()).toEqual(sealed);
  const audit = await control.request("GET", "/api/v1/audit?action=seal_secrets");
  expect(await audit.json()).toHaveLength(1);
});

it("seals again what an old key sealed, in steps, until the old key is not needed", async () => {
  const [first, second] = [newEncryptionKey(), newEncryptionKey()];
  const [before, rotated, after] = [
    await importSealKey(first),
    await importSealKey(second, [first]),
    await importSealKey(second),
  ];
  const { db } = control.connection;
  for (let at = 0; at < 102; at += 1) {
    const made = await control.request("POST", "/api/v1/models", { model_name: `m${at}`, api_key: `secret-${at}` });
    expect(made.status).toBe(200);
  }
  await control.must("PUT", "/settings/jobsched", { token: "secret-of-some-length" });
  const plain = await stored();
  await checkEncryptionKey(db, before);
  await sealPlainSecrets({ ...control.ctx, sealKey: before });
  // damaged, so no key opens it
  await db.execute(sql`UPDATE models SET api_key = 'enc:v1:AAAA' WHERE model_name = 'm7'`);

  await checkEncryptionKey(db, rotated);
  expect(await sealPlainSecrets({ ...control.ctx, sealKey: rotated })).toEqual({});
  await expect(checkEncryptionKey(db, after)).rejects.toThrow(/or add it to GATEWAY_ENCRYPTION_KEYS_OLD$/);
  expect(await resealSecrets({ ...control.ctx, sealKey: after })).toEqual({ resealed: 0 });
  control.cell.items.length = 0;
  expect(await resealSecrets({ ...control.ctx, sealKey: rotated })).toEqual({ resealed: 102 });
  const told = control.cell.items.filter(({ kind }) => kind === "model").map(({ id }) => id);
  expect(new Set(told).size).toBe(101);
  const [copy] = await control.store.get(["model:m3"]);
  const { api_key } = JSON.parse(copy ?? "null") as { api_key: string };
  expect({ opened: await unseal(api_key, after), isOld: await isSealedWithOld(api_key, rotated) }).toEqual({
    opened: "secret-3",
    isOld: false,
  });
  const opened = await Promise.all((await stored()).map(async (text) => await unseal(text, after).catch(() => null)));
  expect(opened.filter((text) => text !== null).sort()).toEqual(plain.filter((text) => text !== "secret-7"));

  await db.execute(sql`UPDATE models SET api_key = NULL WHERE model_name = 'm7'`);
  await checkEncryptionKey(db, after);
  await expect(checkEncryptionKey(db, before)).rejects.toThrow("is not the key");
  expect(await resealSecrets({ ...control.ctx, sealKey: rotated })).toEqual({ resealed: 0 });
});
