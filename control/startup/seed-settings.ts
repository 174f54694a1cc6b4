/**
 * Saves what the environment says of a setting that was never saved; from then on what is saved holds and the environment
 * is ignored (specification "Events").
 */
import { GatewayError } from "../../shared/errors.ts";
import { setAlerts } from "../alerts/set-alerts.ts";
import type { VerbContext } from "../kernel/context.ts";
import { setAutoRouter } from "../services/settings/set-auto-router.ts";
import { alertsSetting, autoRouterSetting } from "../settings/definitions.ts";
import { readSetting, type Setting } from "../settings/setting.ts";

/** Bodies as the Management API takes them, with what the environment says; empty: it says nothing of the setting. */
export interface SettingSeeds {
  readonly alerts: { readonly slack_webhook_url?: string; readonly min_interval_secs?: number };
  readonly auto_router: {
    readonly classifier_enabled?: boolean;
    readonly classifier_model?: string;
    readonly classifier_timeout_ms?: number;
  };
}

export interface Seeded {
  /** Names of the settings saved now. */
  readonly saved: readonly string[];
  /** Settings whose seed was refused, and why. */
  readonly refused: readonly { readonly setting: string; readonly reason: string }[];
}

/** Seeds each setting by itself: what is wrong with one keeps no other from being saved. Throws 503. */
export async function seedSettings(ctx: VerbContext, { alerts, auto_router }: SettingSeeds): Promise<Seeded> {
  const saved: string[] = [];
  const refused: { setting: string; reason: string }[] = [];
  const seed = async (setting: Setting<object>, body: object, save: () => Promise<unknown>): Promise<void> => {
    if (Object.keys(body).length === 0 || (await readSetting(ctx, setting)).saved) return;
    try {
      await save();
      saved.push(setting.name);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status >= 500) throw error;
      refused.push({ setting: setting.name, reason: reasonOf(error) });
    }
  };
  await seed(alertsSetting, alerts, async () => await setAlerts(ctx, alerts));
  await seed(autoRouterSetting, auto_router, async () => await setAutoRouter(ctx, auto_router));
  return { saved, refused };
}

function reasonOf({ message, options }: GatewayError): string {
  return options.details?.map((detail) => `${detail.path} ${detail.message}`).join("; ") ?? message;
}
