/**
 * The alert settings as admins are shown them: secrets as booleans (decisions §9.4).
 */
import type { Alerts, AlertsValue } from "../../shared/schema/settings/alerts.ts";

/** The view of a stored value. */
export function alertsRecord({ slack_webhook_url, min_interval_secs, email }: AlertsValue): Alerts {
  return { slack_webhook_set: slack_webhook_url !== null, min_interval_secs, email: email && shownEmail(email) };
}

function shownEmail({ smtp_password, ...shown }: NonNullable<AlertsValue["email"]>): NonNullable<Alerts["email"]> {
  return { ...shown, password_set: smtp_password !== null };
}
