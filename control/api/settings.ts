/**
 * Routes of the settings of alerts, retention, routing, boons and the assistant.
 */
import { alertsBodySchema, alertsSchema, alertsTestSchema } from "../../shared/schema/settings/alerts.ts";
import { assistantBodySchema, assistantSchema } from "../../shared/schema/settings/assistant.ts";
import { autoRouterBodySchema, autoRouterSchema } from "../../shared/schema/settings/auto-router.ts";
import { boonsBodySchema, boonsSchema } from "../../shared/schema/settings/boons.ts";
import { usageRetentionBodySchema, usageRetentionSchema } from "../../shared/schema/settings/usage-retention.ts";
import { getAlerts } from "../alerts/get-alerts.ts";
import { sendTestAlert } from "../alerts/send-test-alert.ts";
import { setAlerts } from "../alerts/set-alerts.ts";
import { getAssistant } from "../services/settings/get-assistant.ts";
import { getAutoRouter } from "../services/settings/get-auto-router.ts";
import { getBoons } from "../services/settings/get-boons.ts";
import { getUsageRetention } from "../services/settings/get-usage-retention.ts";
import { setAssistant } from "../services/settings/set-assistant.ts";
import { setAutoRouter } from "../services/settings/set-auto-router.ts";
import { setBoons } from "../services/settings/set-boons.ts";
import { setUsageRetention } from "../services/settings/set-usage-retention.ts";
import { endpoint, jsonBody, written } from "./endpoint.ts";
import type { Api, ApiDeps } from "./types.ts";

const tag = "Settings";
const at = "/api/v1/settings";

export function settingsRoutes(app: Api, deps: ApiDeps): void {
  endpoint(app, {
    method: "get",
    path: `${at}/alerts`,
    summary: "Read where alerts go; secrets show as booleans",
    tag,
    answer: alertsSchema,
    handler: async (c) => c.json(await getAlerts(c.var.ctx)),
  });
  endpoint(app, {
    method: "put",
    path: `${at}/alerts`,
    summary: "Say where alerts go; an omitted field keeps its value",
    description:
      "Secrets that are omitted or blank are kept; `clear_slack_webhook` and `clear_smtp_password` remove them. `email: null` turns email off; inside `email`, host, sender and at least one recipient are required once. The webhook's address is held to the address policy.",
    tag,
    body: alertsBodySchema,
    answer: alertsSchema,
    handler: async (c) => written(c, await setAlerts(c.var.ctx, await jsonBody(c))),
  });
  endpoint(app, {
    method: "post",
    path: `${at}/alerts/test`,
    summary: "Send a test alert on every configured channel",
    description:
      "Ignores the cooldown. A channel that fails is tried once more; the answer says per channel what came of it and never shows a secret.",
    tag,
    answer: alertsTestSchema,
    handler: async (c) => c.json(await sendTestAlert(c.var.ctx)),
  });
  endpoint(app, {
    method: "get",
    path: `${at}/usage-retention`,
    summary: "Read how long raw usage rows are kept",
    tag,
    answer: usageRetentionSchema,
    handler: async (c) => c.json(await getUsageRetention(c.var.ctx, deps.usageRetentionDays)),
  });
  endpoint(app, {
    method: "put",
    path: `${at}/usage-retention`,
    summary: "Say how long raw usage rows are kept",
    description: "Whole days of raw rows are dropped once they are older. The daily rollup is kept for ever.",
    tag,
    body: usageRetentionBodySchema,
    answer: usageRetentionSchema,
    handler: async (c) => written(c, await setUsageRetention(c.var.ctx, await jsonBody(c))),
  });
  endpoint(app, {
    method: "get",
    path: `${at}/auto-router`,
    summary: "Read the auto router's settings",
    tag,
    answer: autoRouterSchema,
    handler: async (c) => c.json(await getAutoRouter(c.var.ctx)),
  });
  endpoint(app, {
    method: "put",
    path: `${at}/auto-router`,
    summary: "Configure the auto router's classifier",
    description:
      "A blank `classifier_model` clears it and turns the classifier off: routing goes by capacity, cost and keywords. 0 for the timeout keeps the stored one.",
    tag,
    body: autoRouterBodySchema,
    answer: autoRouterSchema,
    handler: async (c) => written(c, await setAutoRouter(c.var.ctx, await jsonBody(c))),
  });
  endpoint(app, {
    method: "get",
    path: `${at}/boons`,
    summary: "Read the global settings of boons",
    tag,
    answer: boonsSchema,
    handler: async (c) => c.json(await getBoons(c.var.ctx)),
  });
  endpoint(app, {
    method: "put",
    path: `${at}/boons`,
    summary: "Change the global settings of boons; omitted fields and zeros keep their values",
    description:
      "A boon takes effect for models that list it while its switch here is on. At most 3 repair attempts and 8 tool turns; more become that. A blank model clears it, a blank prompt keeps it, a blank nudge is the default one.",
    tag,
    body: boonsBodySchema,
    answer: boonsSchema,
    handler: async (c) => written(c, await setBoons(c.var.ctx, await jsonBody(c))),
  });
  endpoint(app, {
    method: "get",
    path: `${at}/assistant`,
    summary: "Read the assistant's settings",
    tag,
    answer: assistantSchema,
    handler: async (c) => c.json(await getAssistant(c.var.ctx)),
  });
  endpoint(app, {
    method: "put",
    path: `${at}/assistant`,
    summary: "Change the assistant's settings",
    description: "A tool that `tools_enabled` does not list is on; a given map replaces the stored one.",
    tag,
    body: assistantBodySchema,
    answer: assistantSchema,
    handler: async (c) => written(c, await setAssistant(c.var.ctx, await jsonBody(c))),
  });
}
