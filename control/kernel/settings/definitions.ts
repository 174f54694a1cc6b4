/**
 * All settings (docs/rules/settings.md#common-rules): the names of their rows, their audit actions, their stored shapes,
 * their secrets.
 */

import { mailOrigin, originOf } from "../../../shared/network/origin.ts";
import { type AlertsValue, alertsValueSchema } from "../../../shared/schema/settings/alerts.ts";
import { type AssistantValue, assistantValueSchema } from "../../../shared/schema/settings/assistant.ts";
import { type AutoRouterValue, autoRouterValueSchema } from "../../../shared/schema/settings/auto-router.ts";
import { type BoonsValue, boonsValueSchema } from "../../../shared/schema/settings/boons.ts";
import { type EnergyValue, energyValueSchema } from "../../../shared/schema/settings/energy-value.ts";
import { type JobschedValue, jobschedValueSchema } from "../../../shared/schema/settings/jobsched.ts";
import { type RetentionValue, usageRetentionValueSchema } from "../../../shared/schema/settings/usage-retention.ts";
import { fitting, type Setting } from "./setting.ts";

export const alertsSetting: Setting<AlertsValue> = {
  name: "alerts",
  action: "set_alert_settings",
  schema: alertsValueSchema,
  secrets: ["slack_webhook_url", "email.smtp_password", "channels.*.url"],
  sealed: ["slack_webhook_url", "email.smtp_password", "channels.*.url"],
  originOf: ({ email }, field, secret) => {
    if (field !== "email.smtp_password") return originOf(secret);
    return email === null ? "" : mailOrigin(email);
  },
};

export const retentionSetting: Setting<RetentionValue> = {
  name: "usage_retention",
  action: "set_usage_retention",
  schema: usageRetentionValueSchema,
  secrets: [],
  sealed: [],
};

export const autoRouterSetting: Setting<AutoRouterValue> = {
  name: "auto_router",
  action: "set_auto_router_settings",
  schema: autoRouterValueSchema,
  secrets: [],
  sealed: [],
};

export const boonsSetting: Setting<BoonsValue> = {
  name: "boons",
  action: "set_boon_settings",
  schema: boonsValueSchema,
  secrets: [],
  sealed: [],
};

export const energySetting: Setting<EnergyValue> = {
  name: "energy",
  action: "set_energy_settings",
  schema: energyValueSchema,
  secrets: [],
  sealed: [],
};

export const jobschedSetting: Setting<JobschedValue> = {
  name: "jobsched",
  action: "set_jobsched_settings",
  schema: jobschedValueSchema,
  secrets: ["token", "token_last4"],
  sealed: ["token"],
  originOf: ({ url }) => originOf(url),
};

export const assistantSetting: Setting<AssistantValue> = {
  name: "assistant",
  action: "set_assistant_settings",
  schema: assistantValueSchema,
  secrets: [],
  sealed: [],
};

/** The fields of a stored setting that fit it ({@link fitting}); nothing of one that does not exist. */
export function fittingFields(name: string, stored: unknown): Readonly<Record<string, unknown>> {
  const setting = SETTINGS.find((each) => each.name === name);
  return setting === undefined ? {} : fitting(setting, stored).fields;
}

/** Every setting there is. */
export const SETTINGS: readonly Setting<object>[] = [
  alertsSetting,
  retentionSetting,
  autoRouterSetting,
  boonsSetting,
  energySetting,
  jobschedSetting,
  assistantSetting,
];
