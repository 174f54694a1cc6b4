import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { importSealKey, type SealKey } from "../../shared/seal.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { checkEncryptionKey } from "./encryption-check.ts";
import { seedSettings } from "./settings/seed-settings.ts";

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

describe("what the environment says of settings", () => {
  const seeds = {
    alerts: { slack_webhook_url: "http://127.0.0.1:9/hook", min_interval_secs: 60 },
    auto_router: { classifier_enabled: true, classifier_model: "tiny", classifier_timeout_ms: 100 },
  };

  it("is saved once, and ignored from then on", async () => {
    expect(await seedSettings(control.ctx, { alerts: null, auto_router: null })).toEqual([]);
    expect(await seedSettings(control.ctx, seeds)).toEqual(["alerts", "auto_router"]);
    const read = async (name: string): Promise<unknown> =>
      await (await control.request("GET", `/api/v1/settings/${name}`)).json();
    expect(await read("alerts")).toMatchObject({ slack_webhook_set: true, min_interval_secs: 60 });
    expect(await read("auto-router")).toMatchObject({ classifier_enabled: true, classifier_model: "tiny" });
    await control.request("PUT", "/api/v1/settings/alerts", { clear_slack_webhook: true });
    await control.request("PUT", "/api/v1/settings/auto-router", { classifier_model: "" });
    expect(await seedSettings(control.ctx, seeds)).toEqual([]);
    expect(await read("alerts")).toMatchObject({ slack_webhook_set: false });
    expect(await read("auto-router")).toMatchObject({ classifier_enabled: false, classifier_model: null });
  });

  it("is refused like any other body", async () => {
    const alerts = { slack_webhook_url: "http://169.254.169.254/", min_interval_secs: 60 };
    await expect(seedSettings(control.ctx, { alerts, auto_router: null })).rejects.toThrow(/blocked address/);
  });
});
