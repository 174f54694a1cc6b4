/** The command as a person runs it, on files in a folder and without a gateway. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newEncryptionKey, startControl } from "../../test/harness/control.ts";
import { fillConfiguration } from "../../test/harness/full-configuration.ts";

const MAIN = join(import.meta.dirname, "main.ts");
const encryptionKey = newEncryptionKey();
let folder: string;
let secret: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-drill-"));
  const from = await startControl({ encryptionKey });
  secret = (await fillConfiguration(from)).secret;
  const text = await (await from.request("GET", "/api/v1/backup/export")).text();
  await from.close();
  writeFileSync(join(folder, "gateway-backup-20260101T000000Z.json"), "an older one");
  writeFileSync(join(folder, "gateway-backup-20260102T000000Z.json"), text);
  writeFileSync(join(folder, "notes.json"), "{}");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (words: readonly string[], env: Record<string, string>, input = "") => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, "drill", ...words], {
    env,
    input,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
};

it("tries the newest backup of a folder, and ends with 1 and the reason when it fails", { tags: ["long"] }, () => {
  const good = run([folder, "--key", "--json"], { GATEWAY_ENCRYPTION_KEY: encryptionKey }, `${secret}\n`);
  expect({ status: good.status, stderr: good.stderr }).toEqual({ status: 0, stderr: "" });
  expect(JSON.parse(good.stdout)).toMatchObject({
    file: join(folder, "gateway-backup-20260102T000000Z.json"),
    key: "authenticates",
    problems: [],
  });
  const locked = run([folder], {});
  expect({ status: locked.status, stdout: locked.stdout }).toEqual({ status: 1, stdout: "" });
  expect(locked.stderr).toContain("encryption key");
  const refused = run([folder, "--key"], { GATEWAY_ENCRYPTION_KEY: encryptionKey }, "gw-wrong");
  expect(refused).toMatchObject({ status: 1, stderr: "the drill failed:\nthe given key does not authenticate\n" });
});

it("names what it cannot read", { tags: ["long"] }, () => {
  for (const [words, said] of [
    [[join(folder, "none")], "does not exist"],
    [[import.meta.dirname], "has no file that is named as a backup, such as gateway-backup-20"],
    [[join(folder, "gateway-backup-20260101T000000Z.json")], "is not JSON"],
  ] as const) {
    const { status, stderr } = run(words, {});
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(said) });
  }
});
