/**
 * Says where alerts go; what is omitted keeps its value, secrets too (decisions §9.4).
 */

import { mailOrigin } from "../../shared/origin.ts";
import {
  type Alerts,
  type AlertsBody,
  type AlertsValue,
  alertsBodySchema,
} from "../../shared/schema/settings/alerts.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { isKept, keptSecretWarnings } from "../kernel/kept-secrets.ts";
import { dropUndefined, fieldErrors, parse } from "../kernel/parse.ts";
import { sealNewSecret } from "../kernel/seal-secret.ts";
import { checkInfrastructureHost, checkUpstreamAddress } from "../kernel/upstream-address.ts";
import { withWarnings } from "../kernel/warnings.ts";
import { alertsSetting } from "../settings/definitions.ts";
import { saveSetting } from "../settings/setting.ts";
import { alertsRecord } from "./alerts-record.ts";

/** The settings, without secrets. Throws 400, also `address_blocked`. */
export async function setAlerts(ctx: VerbContext, input: unknown): Promise<Written<Alerts>> {
  const body = parse(alertsBodySchema, input);
  await checkUpstreamAddress(ctx, "slack_webhook_url", body.slack_webhook_url ?? "");
  if (body.email?.smtp_host !== undefined) await checkInfrastructureHost(ctx, "email.smtp_host", body.email.smtp_host);
  const merge = async (before: AlertsValue): Promise<AlertsValue> => ({
    slack_webhook_url:
      body.clear_slack_webhook === true
        ? null
        : await sealNewSecret(ctx, body.slack_webhook_url || null, before.slack_webhook_url),
    min_interval_secs: body.min_interval_secs ?? before.min_interval_secs,
    email: await mergedEmail(ctx, body, before.email),
  });
  const { record, warnings, sync } = await saveSetting(ctx, alertsSetting, merge, (before, after) =>
    passwordWarnings(body, before.email, after.email),
  );
  return { record: withWarnings(alertsRecord(record), warnings), sync };
}

/** The password belongs to the mail server; the webhook's URL is its own address. */
function passwordWarnings(body: AlertsBody, before: Email, after: Email): readonly string[] {
  if (before === null || after === null || after.smtp_password === null) return [];
  const kept = isKept(body.email?.smtp_password || null, before.smtp_password);
  const fields = { secret: "smtp_password", address: "email.smtp_host, smtp_port or starttls", kept };
  return keptSecretWarnings(fields, mailOrigin(before), mailOrigin(after));
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
        : await sealNewSecret(ctx, smtp_password || null, before?.smtp_password ?? null),
  };
}

/** Names those without a value. */
function missing(fields: Readonly<Record<string, unknown>>): Error {
  const without = Object.keys(fields).filter((field) => fields[field] === undefined);
  return fieldErrors(without.map((field) => ({ path: `email.${field}`, message: "is required to send email" })));
}
