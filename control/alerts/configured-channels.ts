/**
 * The channels of the alert settings, ready to send on (docs/rules/alerts.md#channels). They are read for every alert, so that
 * a saved setting is in force at once.
 */

import { unseal } from "../../shared/crypto/seal.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { AlertsValue, ChannelResult } from "../../shared/schema/settings/alerts.ts";
import type { VerbContext } from "../kernel/context.ts";
import { alertsSetting } from "../kernel/settings/definitions.ts";
import { readSetting } from "../kernel/settings/setting.ts";
import { checkUpstreamAddress } from "../kernel/upstream-address.ts";
import { type Channel, channelsOf, takesIssue } from "./channel-rules.ts";
import { type AlertMessage, type Outcome, sendMail, sendToWebhook } from "./channels.ts";

export interface AlertChannel {
  readonly id: string;
  /** Repeats of an issue within this time are not sent; 0: every repeat is sent. */
  readonly minIntervalSecs: number;
  readonly takes: (issueKey: string) => boolean;
  /** Sends one message; returns how it went and never rejects. */
  readonly send: (message: AlertMessage) => Promise<ChannelResult & Outcome>;
}

export interface AlertChannels {
  /** Of channels that have none of their own, and of the entries that people read. */
  readonly minIntervalSecs: number;
  readonly channels: readonly AlertChannel[];
  /** Of the settings. */
  readonly rev: number;
}

/** The channels that are on; none when nothing is configured. Throws 503 `database_unavailable`. */
export async function alertChannels(ctx: VerbContext): Promise<AlertChannels> {
  const { value, rev } = await readSetting(ctx, alertsSetting);
  const on = channelsOf(value).filter(({ enabled }) => enabled);
  return { minIntervalSecs: value.min_interval_secs, channels: on.map((channel) => sending(ctx, value, channel)), rev };
}

/** One channel, also when it is off; null when no channel has this id. Throws 503 `database_unavailable`. */
export async function alertChannel(ctx: VerbContext, id: string): Promise<AlertChannel | null> {
  const { value } = await readSetting(ctx, alertsSetting);
  const channel = channelsOf(value).find((one) => one.id === id);
  return channel === undefined ? null : sending(ctx, value, channel);
}

function sending(ctx: VerbContext, value: AlertsValue, channel: Channel): AlertChannel {
  const { id, name, type } = channel;
  const send = async (message: AlertMessage): Promise<Outcome> =>
    type === "email" ? await toList(ctx, value.email, channel, message) : await toWebhook(ctx, type, channel, message);
  return {
    id,
    minIntervalSecs: channel.min_interval_secs ?? value.min_interval_secs,
    takes: (issueKey) => takesIssue(channel, issueKey),
    send: async (message) => ({ channel: id, name, ...(await send(message)) }),
  };
}

async function toList(
  ctx: VerbContext,
  email: AlertsValue["email"],
  { recipients }: Channel,
  message: AlertMessage,
): Promise<Outcome> {
  if (email === null) return { ok: false, detail: "no mail server is set in the alert settings" };
  const password = email.smtp_password === null ? null : await opened(ctx, email.smtp_password);
  return password === undefined ? UNOPENED : await sendMail({ ...email, recipients }, password, message);
}

/** Checks the address again: what its name resolves to may have changed since it was saved. */
async function toWebhook(
  ctx: VerbContext,
  type: "slack" | "webhook",
  { url: sealed }: Channel,
  message: AlertMessage,
): Promise<Outcome> {
  if (sealed === null) return { ok: false, detail: "no URL is set" };
  const url = await opened(ctx, sealed);
  if (url === undefined) return UNOPENED;
  try {
    await checkUpstreamAddress(ctx, "url", url);
  } catch (error) {
    return { ok: false, detail: error instanceof GatewayError ? error.message : "not checked" };
  }
  return await sendToWebhook(type, url, ctx.ssrf, message);
}

/** The opened secret; undefined when it cannot be opened. */
async function opened(ctx: VerbContext, sealed: string): Promise<string | undefined> {
  return await unseal(sealed, ctx.sealKey).catch(() => undefined);
}

const UNOPENED: Outcome = { ok: false, detail: "the stored secret does not open with this encryption key" };
