import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { parseEnv } from "../env.ts";
import { type Seeded, seedSettings } from "./seed-settings.ts";

let control: TestControl;
beforeEach(async () => {
  control = await startControl();
});
afterEach(async () => {
  await control.close();
});

const read = async (name: string): Promise<unknown> =>
  await (await control.request("GET", `/api/v1/settings/${name}`)).json();

/** The seeds from these variables. */
const seed = async (variables: Record<string, string>): Promise<Seeded> =>
  await seedSettings(control.ctx, parseEnv({ GATEWAY_ADMIN_TOKEN: "t", ...variables }).seeds);

const ALL = {
  GATEWAY_SLACK_WEBHOOK_URL: "http://127.0.0.1:9/hook",
  GATEWAY_SLACK_ALERT_MIN_INTERVAL_SECS: "60",
  GATEWAY_AUTO_CLASSIFIER_ENABLED: "on",
  GATEWAY_AUTO_CLASSIFIER_MODEL: "tiny",
  GATEWAY_AUTO_CLASSIFIER_TIMEOUT_MS: "100",
};

describe("the environment's value of a setting", () => {
  it("is saved once, and ignored from then on", async () => {
    expect(await seed({})).toEqual({ saved: [], refused: [] });
    expect(await seed(ALL)).toEqual({ saved: ["alerts", "auto_router"], refused: [] });
    expect(await read("alerts")).toMatchObject({ slack_webhook_set: true, min_interval_secs: 60 });
    expect(await read("auto-router")).toMatchObject({
      classifier_enabled: true,
      classifier_model: "tiny",
      classifier_timeout_ms: 100,
    });
    await control.request("PUT", "/api/v1/settings/alerts", { clear_slack_webhook: true });
    await control.request("PUT", "/api/v1/settings/auto-router", { classifier_model: "" });
    expect(await seed(ALL)).toEqual({ saved: [], refused: [] });
    expect(await read("alerts")).toMatchObject({ slack_webhook_set: false });
    expect(await read("auto-router")).toMatchObject({ classifier_enabled: false, classifier_model: null });
  });

  const alerts = { slack_webhook_set: false, min_interval_secs: 300 };
  const router = { classifier_enabled: false, classifier_model: null, classifier_timeout_ms: 250 };
  it.each([
    ["GATEWAY_SLACK_WEBHOOK_URL", ALL.GATEWAY_SLACK_WEBHOOK_URL, "alerts", { ...alerts, slack_webhook_set: true }],
    ["GATEWAY_SLACK_ALERT_MIN_INTERVAL_SECS", "60", "alerts", { ...alerts, min_interval_secs: 60 }],
    ["GATEWAY_SLACK_ALERT_MIN_INTERVAL_SECS", "0", "alerts", { ...alerts, min_interval_secs: 0 }],
    ["GATEWAY_AUTO_CLASSIFIER_ENABLED", "1", "auto-router", { ...router, classifier_enabled: true }],
    ["GATEWAY_AUTO_CLASSIFIER_MODEL", "tiny", "auto-router", { ...router, classifier_model: "tiny" }],
    ["GATEWAY_AUTO_CLASSIFIER_TIMEOUT_MS", "99", "auto-router", { ...router, classifier_timeout_ms: 99 }],
  ])("is saved when %s=%s says it alone", async (variable, value, name, expected) => {
    expect(await seed({ [variable]: value })).toEqual({ saved: [name.replace("-", "_")], refused: [] });
    expect(await read(name)).toMatchObject(expected);
  });

  it("is refused by its setting's name like any other body, and other settings are still saved", async () => {
    expect(await seed({ ...ALL, GATEWAY_SLACK_WEBHOOK_URL: "http://169.254.169.254/" })).toEqual({
      saved: ["auto_router"],
      refused: [{ setting: "alerts", reason: "slack_webhook_url may not be called: use another address" }],
    });
    expect(await seed({ GATEWAY_SLACK_WEBHOOK_URL: "http://me:secret@127.0.0.1/" })).toEqual({
      saved: [],
      refused: [{ setting: "alerts", reason: "slack_webhook_url must not contain user info" }],
    });
  });
});
