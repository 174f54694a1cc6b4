/**
 * Sends a test alert on every configured channel, whatever the cooldown says (decisions §9.4).
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { AlertsTest, ChannelResult } from "../../../shared/schema/settings/alerts.ts";
import { unseal } from "../../../shared/seal.ts";
import { type AlertMessage, sendMail, sendToWebhook } from "../../outbound/alert-channels.ts";
import type { VerbContext } from "../context.ts";
import { checkUpstreamAddress } from "../upstream-address.ts";
import { alertsSetting } from "./definitions.ts";
import { readSetting } from "./setting.ts";

const TEST: AlertMessage = {
  issueKey: "test_alert",
  title: "Test alert",
  detail: "This is a test alert from the gateway.",
};

/** How each channel did. Throws 400 `no_alert_channel`. */
export async function testAlerts(ctx: VerbContext): Promise<AlertsTest> {
  const { slack_webhook_url: webhook, email } = (await readSetting(ctx, alertsSetting)).value;
  const channels: Promise<ChannelResult>[] = [];
  if (webhook !== null) channels.push(toWebhook(ctx, await unseal(webhook, ctx.sealKey)));
  if (email !== null) {
    const password = email.smtp_password === null ? null : await unseal(email.smtp_password, ctx.sealKey);
    channels.push(sendMail(email, password, TEST));
  }
  if (channels.length === 0) throw new GatewayError("no_alert_channel");
  return { results: await Promise.all(channels) };
}

/** What the name resolves to may have changed since it was saved. */
async function toWebhook(ctx: VerbContext, url: string): Promise<ChannelResult> {
  try {
    await checkUpstreamAddress(ctx, "slack_webhook_url", url);
  } catch (error) {
    return { channel: "slack", ok: false, detail: error instanceof GatewayError ? error.message : "not checked" };
  }
  return await sendToWebhook(url, ctx.ssrf, TEST);
}
