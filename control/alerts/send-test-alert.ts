/**
 * Sends a test alert on every configured channel, whatever the cooldown says (decisions §9.4).
 */
import { GatewayError } from "../../shared/errors.ts";
import type { AlertsTest } from "../../shared/schema/settings/alerts.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { AlertMessage } from "./channels.ts";
import { alertChannels } from "./configured-channels.ts";

const TEST: AlertMessage = {
  issueKey: "test_alert",
  title: "Test alert",
  detail: "This is a test alert from the gateway.",
};

/** How each channel did. Throws 400 `no_alert_channel`. */
export async function sendTestAlert(ctx: VerbContext): Promise<AlertsTest> {
  const { channels } = await alertChannels(ctx);
  if (channels.length === 0) throw new GatewayError("no_alert_channel");
  return { results: await Promise.all(channels.map(async (send) => await send(TEST))) };
}
