/**
 * Says where alerts go; what is omitted keeps its value, secrets too (decisions §9.4).
 */
import {
  type Alerts,
  type AlertsBody,
  type AlertsValue,
  alertsBodySchema,
} from "../../../shared/schema/settings/alerts.ts";
import type { VerbContext, Written } from "../context.ts";
import { dropUndefined, fieldErrors, parse } from "../parse.ts";
import { sealedSecret } from "../secrets.ts";
import { checkUpstreamAddress } from "../upstream-address.ts";
import { alertsRecord } from "./alerts-record.ts";
import { alertsSetting } from "./definitions.ts";
import { saveSetting } from "./setting.ts";

/** The settings, without secrets. Throws 400, also `address_blocked`. */
export async function setAlerts(ctx: VerbContext, input: unknown): Promise<Written<Alerts>> {
  const body = parse(alertsBodySchema, input);
  await checkUpstreamAddress(ctx, "slack_webhook_url", body.slack_webhook_url ?? "");
  const { record, sync } = await saveSetting(ctx, alertsSetting, async (before) => ({
    slack_webhook_url:
      body.clear_slack_webhook === true
        ? null
        : await sealedSecret(ctx, body.slack_webhook_url || null, before.slack_webhook_url),
    min_interval_secs: body.min_interval_secs ?? before.min_interval_secs,
    email: await mergedEmail(ctx, body, before.email),
  }));
  return { record: alertsRecord(record), sync };
}

type Email = AlertsValue["email"];

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
        : await sealedSecret(ctx, smtp_password || null, before?.smtp_password ?? null),
  };
}

/** Names those without a value. */
function missing(fields: Readonly<Record<string, unknown>>): Error {
  const without = Object.keys(fields).filter((field) => fields[field] === undefined);
  return fieldErrors(without.map((field) => ({ path: `email.${field}`, message: "is required to send email" })));
}
