/**
 * The channels of alerts, and the rule of each, as admins read and change them (docs/rules/alerts.md#channels). The URL of a
 * webhook is a secret and shown as a boolean.
 */
import * as z from "zod";
import { ALERT_TITLES, type AlertKey, SEVERITIES } from "../catalogues/alerts.ts";
import { shownTime } from "../fields/common-fields.ts";
import { flag, revField, warningsField } from "./common.ts";
import { CHANNEL_TYPES, minIntervalSecs, channelName as name, recipients, webhookUrl } from "./settings/alerts.ts";

const ALERT_KINDS = Object.keys(ALERT_TITLES) as [AlertKey, ...AlertKey[]];
const minSeverity = z.enum(SEVERITIES, { error: `must be ${SEVERITIES.join(", ")}` });
const kinds = z
  .array(z.enum(ALERT_KINDS, { error: "is not the key of an alert" }), { error: "must be a list of alert keys" })
  .transform((items) => [...new Set(items)]);

const rule = {
  min_severity: minSeverity.meta({ description: "Less severe alerts are not sent here" }),
  kinds: kinds.meta({ description: "Keys of alerts; empty: all" }),
  min_interval_secs: minIntervalSecs.nullable().meta({
    description: "Repeats of an alert within this time are sent as one message; null: as in the alert settings",
  }),
  enabled: flag,
};
const url = webhookUrl.meta({ description: "Of a webhook" });
const list = recipients
  .transform((items) => [...new Set(items)])
  .nullable()
  .meta({ description: "Of a mail channel", examples: [null] });

/** POST /alert-channels */
export const createChannelSchema = z
  .object({
    name,
    type: z.enum(CHANNEL_TYPES, { error: `must be ${CHANNEL_TYPES.join(", ")}` }),
    url: url.optional(),
    recipients: list.optional(),
    min_severity: rule.min_severity.default("info"),
    kinds: rule.kinds.default([]),
    min_interval_secs: rule.min_interval_secs.default(null),
    enabled: rule.enabled.default(true),
  })
  .meta({ id: "CreateAlertChannel" });

/** PATCH /alert-channels/{id}: omitted fields keep their value, and so does the URL when it is blank. */
export const changeChannelSchema = z
  .object({ name, url: url.nullable(), recipients: list, ...rule })
  .partial()
  .meta({ id: "ChangeAlertChannel" });

/** A channel as admins see it. */
export const alertChannelSchema = z
  .object({
    id: z.string().meta({ description: "`slack` and `email` are the channels of the alert settings" }),
    name: z.string(),
    type: z.enum(CHANNEL_TYPES),
    url_set: z.boolean(),
    recipients: z.array(z.string()),
    min_severity: z.enum(SEVERITIES),
    kinds: z.array(z.string()),
    min_interval_secs: z.number().int().nullable(),
    enabled: z.boolean(),
    last_delivery: z
      .object({ at: shownTime, ok: z.boolean(), detail: z.string() })
      .nullable()
      .meta({ description: "The last message or test; null: none so far" }),
    sent: z.number().int().meta({ description: "Messages and tests that were sent" }),
    failed: z.number().int().meta({ description: "Messages and tests that were given up" }),
    rev: revField,
    warnings: warningsField,
  })
  .meta({ id: "AlertChannel" });
export type ShownChannel = z.infer<typeof alertChannelSchema>;
