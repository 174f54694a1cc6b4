/**
 * The channels of the alert settings, ready to send on (docs/rules/settings.md#alerts). They are read for every alert,
 * so that a saved setting is in force at once.
 */

import { unseal } from "../../shared/crypto/seal.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { ChannelResult } from "../../shared/schema/settings/alerts.ts";
import type { VerbContext } from "../kernel/context.ts";
import { alertsSetting } from "../kernel/settings/definitions.ts";
import { readSetting } from "../kernel/settings/setting.ts";
import { checkUpstreamAddress } from "../kernel/upstream-address.ts";
import { type AlertMessage, sendMail, sendToWebhook } from "./channels.ts";

/** Sends one message; returns how it went and never rejects. */
type AlertChannel = (message: AlertMessage) => Promise<ChannelResult>;

export interface AlertChannels {
  /** Repeats of an issue within this time are not sent; 0: every repeat is sent. */
  readonly minIntervalSecs: number;
  readonly channels: readonly AlertChannel[];
}

/** The list is empty when nothing is configured. Throws 503 `database_unavailable`. */
export async function alertChannels(ctx: VerbContext): Promise<AlertChannels> {
  const { slack_webhook_url: webhook, email, min_interval_secs } = (await readSetting(ctx, alertsSetting)).value;
  const channels: AlertChannel[] = [];
  if (webhook !== null) channels.push(async (message) => await toWebhook(ctx, webhook, message));
  if (email !== null)
    channels.push(async (message) => {
      const password = email.smtp_password === null ? null : await opened(ctx, email.smtp_password);
      return password === undefined ? unopened("email") : await sendMail(email, password, message);
    });
  return { minIntervalSecs: min_interval_secs, channels };
}

/** Checks the address again: what its name resolves to may have changed since it was saved. */
async function toWebhook(ctx: VerbContext, sealed: string, message: AlertMessage): Promise<ChannelResult> {
  const url = await opened(ctx, sealed);
  if (url === undefined) return unopened("slack");
  try {
    await checkUpstreamAddress(ctx, "slack_webhook_url", url);
  } catch (error) {
    return { channel: "slack", ok: false, detail: error instanceof GatewayError ? error.message : "not checked" };
  }
  return await sendToWebhook(url, ctx.ssrf, message);
}

/** The opened secret; undefined when it cannot be opened. */
async function opened(ctx: VerbContext, sealed: string): Promise<string | undefined> {
  return await unseal(sealed, ctx.sealKey).catch(() => undefined);
}

const unopened = (channel: ChannelResult["channel"]): ChannelResult => ({
  channel,
  ok: false,
  detail: "the stored secret does not open with this encryption key",
});
