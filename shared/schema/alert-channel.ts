/**
 * The channels of alerts, and the rule of each: which alerts it takes (docs/rules/alerts.md#channels). The URL of a webhook is
 * a secret: stored sealed, shown as a boolean.
 */
import * as z from "zod";
import { ALERT_TITLES, type AlertKey, SEVERITIES } from "../catalogues/alerts.ts";
import { shownTime } from "../fields/common-fields.ts";
import { flag, freeText, mailAddress, requiredText, revField, warningsField, whole } from "./common.ts";
import { refuseNoUrl } from "./upstream.ts";

/** `slack`: a chat that takes Slack's form; `webhook`: a JSON object for programs; `email`: a list of recipients. */
export const CHANNEL_TYPES = ["slack", "webhook", "email"] as const;
export type ChannelType = (typeof CHANNEL_TYPES)[number];

const ALERT_KINDS = Object.keys(ALERT_TITLES) as [AlertKey, ...AlertKey[]];
const RECIPIENTS_MAX = 100;
/** The longest time for which repeats of an alert can be held back. */
export const MIN_INTERVAL_SECS_MAX = 86_400;

export const minIntervalSecs = whole(0, MIN_INTERVAL_SECS_MAX);
export const webhookUrl = freeText(4000).superRefine(refuseNoUrl);
export const recipients = z
  .array(mailAddress, { error: "must be a list of email addresses" })
  .min(1, "must name at least one recipient")
  .max(RECIPIENTS_MAX, `must have at most ${RECIPIENTS_MAX} entries`);

const name = requiredText(100);
const minSeverity = z.enum(SEVERITIES, { error: `must be ${SEVERITIES.join(", ")}` });
const kinds = z
  .array(z.enum(ALERT_KINDS, { error: "is not the key of an alert" }), { error: "must be a list of alert keys" })
  .transform((items) => [...new Set(items)]);

/** As it is stored, with a sealed URL. Kinds that this version does not know are kept. */
export const channelValueSchema = z.object({
  name,
  type: z.enum(CHANNEL_TYPES),
  url: z.string().nullable().default(null),
  recipients: z.array(mailAddress).default([]),
  min_severity: z.enum(SEVERITIES).default("info"),
  kinds: z.array(z.string()).default([]),
  min_interval_secs: minIntervalSecs.nullable().default(null),
  enabled: z.boolean().default(true),
});
export type ChannelValue = z.infer<typeof channelValueSchema>;

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

/** PATCH /alert-channels/{id}: what is omitted keeps its value, the URL also when it is blank. */
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
