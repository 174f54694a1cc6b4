/** Routes of alerts, what people say of them, and their channels. A test really sends a message. */
import { z } from "zod";
import { alertChannelSchema, changeChannelSchema, createChannelSchema } from "../../shared/schema/alert-channel.ts";
import {
  alertDetailSchema,
  alertHistoryEntrySchema,
  alertHistoryFilterSchema,
  alertMarkSchema,
  alertOverviewSchema,
  changeAlertMarkSchema,
} from "../../shared/schema/alert-log.ts";
import { channelResultSchema } from "../../shared/schema/settings/alerts.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api, ApiDeps } from "../api/types.ts";
import { listAlertHistory } from "./alert-history.ts";
import { testAlertChannel } from "./alert-settings.ts";
import { changeAlertMark } from "./change-alert-mark.ts";
import { changeChannel, createChannel, deleteChannel, getChannel, listChannels } from "./channel-verbs.ts";
import { readAlert } from "./read-alert.ts";
import { readAlerts } from "./read-alerts.ts";

const tag = "Alerts";
const at = "/api/v1/alert-channels";

/** Alerts, their history and their marks. */
export function alertRoutes(app: Api): void {
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/alerts",
    summary: "List active alerts and the last 200 messages",
    tag,
    answer: alertOverviewSchema,
    handler: async ({ ctx }) => await readAlerts(ctx),
  });
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/alerts/history",
    summary: "List what was raised in the last 30 days, newest first",
    description:
      "An entry is one time that an alert was active: from when it was first raised until it was not raised again for 15 minutes. Filters hold together.",
    tag,
    query: alertHistoryFilterSchema,
    answer: z.array(alertHistoryEntrySchema),
    handler: async ({ ctx, query }) => await listAlertHistory(ctx, query),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/alerts/{key}",
    summary: "Read what an alert means and what to do, and whether it is acknowledged or muted",
    tag,
    answer: alertDetailSchema,
    handler: async ({ ctx, path }) => await readAlert(ctx, path.key),
  });
  endpoint(app, {
    kind: "write",
    method: "patch",
    path: "/api/v1/alerts/{key}",
    summary: "Acknowledge an alert, or mute it for some time",
    description:
      "An acknowledged alert sends no repeats until it ends; only an alert that fires can be acknowledged. A muted one sends nothing until `muted_until`, and can be muted before it fires. Both are still listed.",
    tag,
    body: changeAlertMarkSchema,
    answer: alertMarkSchema,
    handler: async ({ ctx, path, body }) => await changeAlertMark(ctx, path.key, body),
  });
}

/** Where alerts go. */
export function channelRoutes(app: Api, { consoleUrl }: ApiDeps): void {
  endpoint(app, {
    kind: "read",
    method: "get",
    path: at,
    summary: "List the channels of alerts, with their rules and last deliveries",
    description: "`slack` and `email` are the webhook and the email of the alert settings. URLs show as booleans.",
    tag,
    answer: z.array(alertChannelSchema),
    handler: async ({ ctx }) => await listChannels(ctx),
  });
  endpoint(app, {
    kind: "create",
    method: "post",
    path: at,
    summary: "Create a channel of alerts",
    description:
      "A channel gets every alert of its kinds that is at least as severe as `min_severity`. `slack` posts text in Slack's form to a chat, `webhook` posts a JSON object, `email` writes to `recipients` over the mail server of the alert settings. At most 20 channels.",
    tag,
    body: createChannelSchema,
    answer: alertChannelSchema,
    handler: async ({ ctx, body }) => await createChannel(ctx, body),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: `${at}/{id}`,
    summary: "Read a channel of alerts",
    tag,
    answer: alertChannelSchema,
    handler: async ({ ctx, path }) => await getChannel(ctx, path.id),
  });
  endpoint(app, {
    kind: "write",
    method: "patch",
    path: `${at}/{id}`,
    summary: "Change a channel of alerts",
    description: "A `url` that is omitted, null or blank is kept. The type cannot be changed.",
    tag,
    body: changeChannelSchema,
    answer: alertChannelSchema,
    handler: async ({ ctx, path, body }) => await changeChannel(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: `${at}/{id}`,
    summary: "Delete a channel of alerts",
    description: "Deleting `slack` or `email` clears the webhook or the email of the alert settings.",
    tag,
    handler: async ({ ctx, path }) => await deleteChannel(ctx, path.id),
  });
  endpoint(app, {
    kind: "read",
    method: "post",
    path: `${at}/{id}/test`,
    summary: "Send a test alert on one channel",
    description:
      "Ignores the cooldown and the rule. A channel that fails is retried once; the result is in the answer.",
    tag,
    answer: channelResultSchema,
    handler: async ({ ctx, path }) => await testAlertChannel(ctx, path.id, consoleUrl),
  });
}
