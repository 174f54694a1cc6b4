/**
 * Where operational alerts are sent: the first webhook, the mail server with the first list of recipients, and further channels
 * (docs/rules/settings.md#alerts). URLs of webhooks and the mail password are secrets: stored sealed, shown as booleans.
 */
import * as z from "zod";
import { SEVERITIES } from "../../catalogues/alerts.ts";
import { LIMITS } from "../../catalogues/limits.ts";
import { flag, freeText, mailAddress, requiredText, revField, warningsField, whole } from "../common.ts";
import { refuseNoUrl } from "../upstream.ts";

/** `slack`: a chat that takes Slack's form; `webhook`: a JSON object for programs; `email`: a list of recipients. */
export const CHANNEL_TYPES = ["slack", "webhook", "email"] as const;
export type ChannelType = (typeof CHANNEL_TYPES)[number];

const RECIPIENTS_MAX = 100;
/** The longest time for which repeats of an alert can be held back. */
export const MIN_INTERVAL_SECS_MAX = 86_400;

export const minIntervalSecs = whole(0, MIN_INTERVAL_SECS_MAX);
export const webhookUrl = freeText(4000).superRefine(refuseNoUrl);
export const recipients = z
  .array(mailAddress, { error: "must be a list of email addresses" })
  .min(1, "must name at least one recipient")
  .max(RECIPIENTS_MAX, `must have at most ${RECIPIENTS_MAX} entries`);

export const channelName = requiredText(100);

const emailFields = {
  smtp_host: requiredText(253).regex(/^[^\s/@]+$/, "must be a host name or an address"),
  smtp_port: whole(1, 65_535),
  username: freeText(320),
  from_address: mailAddress,
  recipients,
  starttls: flag,
};

const emailValue = z.object({ ...emailFields, smtp_password: z.string().nullable() });

/** A channel in its stored form, with a sealed URL. Kinds that this version does not know are kept. */
const channelValueSchema = z.object({
  name: channelName,
  type: z.enum(CHANNEL_TYPES),
  url: z.string().nullable().default(null),
  recipients: z.array(mailAddress).default([]),
  min_severity: z.enum(SEVERITIES).default("info"),
  kinds: z.array(z.string()).default([]),
  min_interval_secs: minIntervalSecs.nullable().default(null),
  enabled: z.boolean().default(true),
});
export type ChannelValue = z.infer<typeof channelValueSchema>;

/** The stored value, with sealed secrets. */
export const alertsValueSchema = z.object({
  slack_webhook_url: z.string().nullable().default(null),
  min_interval_secs: minIntervalSecs.default(300),
  email: emailValue.nullable().default(null),
  /** By id. The first two channels have no address here: it is above. */
  channels: z
    .record(z.string().regex(/^[a-z0-9-]{1,64}$/, "must be the id of a channel"), channelValueSchema)
    .refine((channels) => Object.keys(channels).length <= LIMITS.alertChannels, "has too many channels")
    .default({}),
});
export type AlertsValue = z.infer<typeof alertsValueSchema>;
export type EmailValue = z.infer<typeof emailValue>;

const secret = freeText(4000);

const emailBody = z.object(
  {
    ...emailFields,
    smtp_password: secret.nullable().optional(),
    clear_smtp_password: flag,
    recipients: recipients.transform((items) => [...new Set(items)]),
  },
  { error: "must be email settings or null" },
);

/** PUT /settings/alerts: omitted fields keep their value, secrets too; `email: null` turns email off. */
export const alertsBodySchema = z
  .object({
    slack_webhook_url: webhookUrl.nullable().optional(),
    clear_slack_webhook: flag.optional(),
    min_interval_secs: minIntervalSecs.optional(),
    email: emailBody.partial().nullable().optional(),
    clear_smtp_password: flag.optional(),
  })
  .meta({ id: "SetAlerts" });
export type AlertsBody = z.infer<typeof alertsBodySchema>;

export const alertsSchema = z
  .object({
    slack_webhook_set: z.boolean(),
    min_interval_secs: z.number().int(),
    email: emailValue.omit({ smtp_password: true }).extend({ password_set: z.boolean() }).nullable(),
    rev: revField,
    warnings: warningsField,
  })
  .meta({ id: "Alerts" });
export type Alerts = z.infer<typeof alertsSchema>;

/** The outcome of a message on one channel. */
export const channelResultSchema = z
  .object({
    channel: z.string().meta({ description: "ID of the channel" }),
    name: z.string(),
    ok: z.boolean(),
    detail: z.string(),
  })
  .meta({ id: "AlertChannelResult" });
export type ChannelResult = z.infer<typeof channelResultSchema>;

/** POST /settings/alerts/test */
export const alertsTestSchema = z.object({ results: z.array(channelResultSchema) }).meta({ id: "AlertsTest" });
export type AlertsTest = z.infer<typeof alertsTestSchema>;
