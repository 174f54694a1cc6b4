/** @module-tag check */
import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { importSealKey, type SealKey } from "../../../shared/crypto/seal.ts";
import { newEncryptionKey, startControl, type TestControl } from "../../../test/harness/control.ts";
import { checkEncryptionKey } from "./encryption-check.ts";

let control: TestControl;

beforeEach(async () => {
  control = await startControl();
});
afterEach(async () => {
  await control.close();
});

const anotherKey = async (): Promise<SealKey> => await importSealKey(randomBytes(32).toString("base64"));
const check = async (key: SealKey | undefined): Promise<void> => await checkEncryptionKey(control.connection.db, key);

describe("the encryption key", () => {
  it("of the first start stays the key of the database", async () => {
    await check(undefined);
    await check(control.ctx.sealKey);
    await check(control.ctx.sealKey);
    await expect(check(await anotherKey())).rejects.toThrow(/^GATEWAY_ENCRYPTION_KEY is not the key .*$/);
  });

  it("can be another one while the database's key is among the old ones", async () => {
    const [first, second] = [newEncryptionKey(), newEncryptionKey()];
    await check(await importSealKey(first));
    await check(await importSealKey(second, [first]));
    await expect(check(await importSealKey(second))).rejects.toThrow(/or add it to GATEWAY_ENCRYPTION_KEYS_OLD$/);
  });

  it.each([
    ["POST", "/api/v1/models", { model_name: "m", api_key: "k" }],
    ["PUT", "/api/v1/settings/jobsched", { token: "a-token-of-some-length" }],
    ["POST", "/api/v1/mcp-servers", { name: "s", upstream_url: "http://127.0.0.1/mcp", auth_header: "Bearer k" }],
  ])("is missed when %s %s has left a secret, also without a sentinel", async (method, path, body) => {
    expect((await control.request(method, path, body)).status).toBe(200);
    await expect(check(undefined)).rejects.toThrow(/^GATEWAY_ENCRYPTION_KEY is not set, .*$/);
    await expect(check(await anotherKey())).rejects.toThrow(/is not the key/);
    await check(control.ctx.sealKey);
    await control.connection.db.execute(sql`DELETE FROM encryption_check`);
    await check(control.ctx.sealKey);
  });
});
