/**
 * Credentials that were stored before there was an encryption key: the first start with a key seals them, they open to the
 * same text, and the cells learn of the change.
 */
import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, expect, it } from "vitest";
import { importSealKey, unseal } from "../../shared/crypto/seal.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { sealPlainSecrets } from "./seal-plain-secrets.ts";

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
