/** @module-tag check */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { importSealKey } from "../../shared/crypto/seal.ts";
import type { Backup } from "../../shared/schema/backup.ts";
import { newEncryptionKey, startControl } from "../../test/harness/control.ts";
import { openDatabaseCopy } from "../../test/harness/database-template.ts";
import { fillConfiguration } from "../../test/harness/full-configuration.ts";
import { UNPROVEN } from "../../test/harness/secret-backup.ts";
import type { Connection } from "../db/connect.ts";
import { importBackupKey } from "../kernel/encryption/secret-macs.ts";
import { type DrillReport, drill } from "./drill.ts";

const encryptionKey = newEncryptionKey();
let file: Backup;
let secret: string;
let connection: Connection;

beforeAll(async () => {
  const from = await startControl({ encryptionKey });
  secret = (await fillConfiguration(from)).secret;
  file = (await (await from.request("GET", "/api/v1/backup/export")).json()) as Backup;
  await from.close();
});
beforeEach(async () => {
  connection = await openDatabaseCopy();
});
afterEach(async () => await connection.close());

async function run(
  input: unknown,
  { key = encryptionKey, pepper, keySecret }: { key?: string | null; pepper?: string; keySecret?: string } = {},
): Promise<DrillReport> {
  return await drill(input, {
    connection,
    oldPeppers: [],
    sealKey: key === null ? undefined : await importSealKey(key),
    backupKey: key === null ? undefined : await importBackupKey(key),
    pepper,
    ...(keySecret === undefined ? {} : { keySecret }),
    now: () => new Date("2026-06-01T00:00:00Z"),
    randomBytes: (count) => new Uint8Array(count),
  });
}

it("restores everything, and the key of the file authenticates", async () => {
  const report = await run(file, { keySecret: secret });
  expect(report).toMatchObject({ key: "authenticates", problems: [], exported_at: file.exported_at });
  expect(report.rows.tenants).toBe(file.data.tenants.length);
  expect(report.rows.models).toBe(file.data.models.length);
  expect(report.encrypted_credentials).toBeGreaterThan(3);
  expect(report.checksum).toMatch(/^[0-9a-f]{64}$/);
});

it("passes for a file of a version whose files had no mac", async () => {
  const { mac: _, ...earlier } = file;
  expect((await run(earlier, { keySecret: secret })).problems).toEqual([]);
});

describe("fails", () => {
  it("with another encryption key, and without one", async () => {
    await expect(run(file, { key: newEncryptionKey() })).rejects.toMatchObject({ code: "backup_key_mismatch" });
    await expect(run(file, { key: null })).rejects.toMatchObject({ code: "backup_key_missing" });
  });

  it("for a file of another kind", async () => {
    await expect(run({ format: "other" })).rejects.toMatchObject({ code: "backup_format" });
  });

  it("for a file without a row", async () => {
    expect((await run({ ...file, data: {} })).problems).toEqual([UNPROVEN, "the file has no rows"]);
  });

  it("with another pepper, with which no key authenticates", async () => {
    const { key, problems } = await run(file, { pepper: "p", keySecret: secret });
    expect({ key, problems }).toEqual({
      key: "refused",
      problems: [expect.stringContaining("pepper differs"), "the given key does not authenticate"],
    });
  });

  it("with a text that is not the secret of a key", async () => {
    expect((await run(file, { keySecret: "sk" })).key).toBe("refused");
  });

  it("for a file in which an address was changed, and names the rows that lost their credential", async () => {
    const [first, ...others] = file.data.mcp_servers;
    const changed = { ...first, upstream_url: "http://10.9.9.9/elsewhere" };
    const { problems } = await run({ ...file, data: { ...file.data, mcp_servers: [changed, ...others] } });
    expect(problems).toContain(`mcp_servers '${String(first?.id)}' differs from the file`);
  });
});
