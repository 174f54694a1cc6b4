/**
 * Where operational alerts are sent: a chat webhook and email (docs/rules/settings.md#alerts). The webhook's URL and the
 * mail password are secrets: stored sealed, shown as booleans.
 */
import * as z from "zod";
import { flag, freeText, mailAddress, requiredText, revField, warningsField, whole } from "../common.ts";
import { refuseNoUrl } from "../upstream.ts";

const RECIPIENTS_MAX = 100;
/** The longest time for which repeats of an alert can be held back. */
export const MIN_INTERVAL_SECS_MAX = 86_400;

const emailFields = {
  smtp_host: requiredText(253).regex(/^[^\s/@]+$/, "must be a host name or an address"),
  smtp_port: whole(1, 65_535),
  username: freeText(320),
  from_address: mailAddress,
  recipients: z
    .array(mailAddress, { error: "must be a list of email addresses" })
    .min(1, "must name at least one recipient")
    .max(RECIPIENTS_MAX, `must have at most ${RECIPIENTS_MAX} entries`),
  starttls: flag,
};
const minIntervalSecs = whole(0, MIN_INTERVAL_SECS_MAX);

const emailValue = z.object({ ...emailFields, smtp_password: z.string().nullable() });

/** The stored value, with sealed secrets. */
export const alertsValueSchema = z.object({
  slack_webhook_url: z.string().nullable().default(null),
  min_interval_secs: minIntervalSecs.default(300),
  email: emailValue.nullable().default(null),
});
export type AlertsValue = z.infer<typeof alertsValueSchema>;
export type EmailValue = z.infer<typeof emailValue>;

const secret = freeText(4000);

const emailBody = z.object(
  {
    ...emailFields,
    smtp_password: secret.nullable().optional(),
    clear_smtp_password: flag,
    recipients: emailFields.recipients.transform((items) => [...new Set(items)]),
  },
  { error: "must be email settings or null" },
);

/** PUT /settings/alerts: what is omitted keeps its value, secrets too; `email: null` turns email off. */
export const alertsBodySchema = z
  .object({
    slack_webhook_url: secret.superRefine(refuseNoUrl).nullable().optional(),
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

/** The outcome of a test alert on one channel. */
const channelResultSchema = z.object({
  channel: z.enum(["slack", "email"]),
  ok: z.boolean(),
  detail: z.string(),
});
export type ChannelResult = z.infer<typeof channelResultSchema>;

/** POST /settings/alerts/test */
export const alertsTestSchema = z.object({ results: z.array(channelResultSchema) }).meta({ id: "AlertsTest" });
export type AlertsTest = z.infer<typeof alertsTestSchema>;
