/**
 * The first two alert channels and the mail server, as admins read and change them, and the test of every channel: what a change
 * omits keeps its value, secrets too; secrets are shown as booleans (docs/rules/settings.md#alerts).
 */
import { ALERT_TITLES } from "../../shared/catalogues/alerts.ts";
import { GatewayError } from "../../shared/errors.ts";
import { mailOrigin } from "../../shared/network/origin.ts";
import {
  type Alerts,
  type AlertsBody,
  type AlertsTest,
  type AlertsValue,
  alertsBodySchema,
  type ChannelResult,
} from "../../shared/schema/settings/alerts.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { isKept, keptSecretWarnings } from "../kernel/kept-secrets.ts";
import { dropUndefined, fieldErrors } from "../kernel/parse.ts";
import { sealNewSecret } from "../kernel/seal-secret.ts";
import { alertsSetting } from "../kernel/settings/definitions.ts";
import { type SettingVerbs, settingVerbs } from "../kernel/settings/setting.ts";
import { checkInfrastructureHost, checkUpstreamAddress } from "../kernel/upstream-address.ts";
import { noteDelivery } from "./alert-deliveries.ts";
import type { AlertMessage } from "./channels.ts";
import { type AlertChannel, alertChannel, alertChannels } from "./configured-channels.ts";

const TEST_MESSAGE: Omit<AlertMessage, "consoleUrl"> = {
  issueKey: "test_alert",
  title: ALERT_TITLES.test_alert,
  detail: "This is a test alert from the gateway.",
  repeats: 0,
};

/** How admins read and change the alert channels. A change throws 400, also `address_blocked`. */
export const alertSettings: SettingVerbs<Alerts> = settingVerbs({
  setting: alertsSetting,
  body: alertsBodySchema,
  check: async (ctx, { slack_webhook_url, email }) => {
    await checkUpstreamAddress(ctx, "slack_webhook_url", slack_webhook_url ?? "");
    if (email?.smtp_host !== undefined) await checkInfrastructureHost(ctx, "email.smtp_host", email.smtp_host);
  },
  merge: async (ctx, before, body) => ({
    channels: before.channels,
    slack_webhook_url:
      body.clear_slack_webhook === true
        ? null
        : await sealNewSecret(ctx, body.slack_webhook_url || null, before.slack_webhook_url),
    min_interval_secs: body.min_interval_secs ?? before.min_interval_secs,
    email: await mergedEmail(ctx, body, before.email),
  }),
  warnings: (body, before, after) => [...passwordWarnings(body, before.email, after.email), ...listWarnings(after)],
  show: (_ctx, { value }) => shown(value),
});

/**
 * Sends a test alert on every configured channel, whatever the cooldown says. `consoleUrl`: where people open the console. Returns
 * how each channel did. Throws 400 `no_alert_channel`.
 */
export async function sendTestAlert(ctx: VerbContext, consoleUrl: string | null): Promise<AlertsTest> {
  const { channels } = await alertChannels(ctx);
  if (channels.length === 0) throw new GatewayError("no_alert_channel");
  return { results: await Promise.all(channels.map(async (channel) => await testOn(ctx, channel, consoleUrl))) };
}

/** Sends a test alert on one channel, also when it is off. Throws 404, 503. */
export async function testAlertChannel(
  ctx: VerbContext,
  id: string,
  consoleUrl: string | null,
): Promise<ChannelResult> {
  const channel = await alertChannel(ctx, id);
  if (channel === null) throw new GatewayError("not_found");
  return await testOn(ctx, channel, consoleUrl);
}

async function testOn(ctx: VerbContext, channel: AlertChannel, consoleUrl: string | null): Promise<ChannelResult> {
  const { again: _, ...result } = await channel.send({ ...TEST_MESSAGE, consoleUrl });
  await withDatabaseErrors(async () => await noteDelivery(ctx.db, result, ctx.now().getTime()));
  return result;
}

type Email = AlertsValue["email"];

function shown({ slack_webhook_url, min_interval_secs, email }: AlertsValue): Omit<Alerts, "rev"> {
  return { slack_webhook_set: slack_webhook_url !== null, min_interval_secs, email: email && shownEmail(email) };
}

function shownEmail({ smtp_password, ...rest }: NonNullable<Email>): NonNullable<Alerts["email"]> {
  return { ...rest, password_set: smtp_password !== null };
}

/** Lists of recipients need the mail server. */
function listWarnings({ email, channels }: AlertsValue): readonly string[] {
  const lists = Object.values(channels).filter(({ type }) => type === "email");
  if (email !== null || lists.length === 0) return [];
  return [`mail channels send nothing while email is off: ${lists.map(({ name }) => name).join(", ")}`];
}

/** The password belongs to the mail server; the webhook's URL is its own address. */
function passwordWarnings(body: AlertsBody, before: Email, after: Email): readonly string[] {
  if (before === null || after === null || after.smtp_password === null) return [];
  const kept = isKept(body.email?.smtp_password || null, before.smtp_password);
  const fields = { secret: "smtp_password", address: "email.smtp_host, smtp_port or starttls", kept };
  return keptSecretWarnings(fields, mailOrigin(before), mailOrigin(after));
}

async function mergedEmail(ctx: VerbContext, body: AlertsBody, before: Email): Promise<Email> {
  const { email: given, clear_smtp_password: clearAbove = false } = body;
  if (given === null || (given === undefined && before === null)) return null;
  const { smtp_password, clear_smtp_password = false, ...fields } = given ?? {};
  const { smtp_host, from_address, recipients, ...rest } = { ...before, ...dropUndefined(fields) };
  if (smtp_host === undefined || from_address === undefined || recipients === undefined)
    throw missing({ smtp_host, from_address, recipients });
  return {
    smtp_host,
    from_address,
    recipients,
    smtp_port: rest.smtp_port ?? 587,
    username: rest.username ?? "",
    starttls: rest.starttls ?? true,
    smtp_password:
      clearAbove || clear_smtp_password
        ? null
        : await sealNewSecret(ctx, smtp_password || null, before?.smtp_password ?? null),
  };
}

/** The error that names the fields without a value. */
function missing(fields: Readonly<Record<string, unknown>>): Error {
  const without = Object.keys(fields).filter((field) => fields[field] === undefined);
  return fieldErrors(without.map((field) => ({ path: `email.${field}`, message: "is required to send email" })));
}
