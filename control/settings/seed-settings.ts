/**
 * Saves the environment's value of each setting that was never saved. From then on the saved value counts and the
 * environment is ignored (docs/rules/settings.md#seeds-from-the-environment).
 */
import { GatewayError } from "../../shared/errors.ts";
import { alertSettings } from "../alerts/alert-settings.ts";
import type { VerbContext } from "../kernel/context.ts";
import { inWords } from "../kernel/parse.ts";
import { alertsSetting, autoRouterSetting } from "../kernel/settings/definitions.ts";
import { autoRouterSettings } from "../kernel/settings/plain-settings.ts";
import { readSetting, type Setting } from "../kernel/settings/setting.ts";

/**
 * Bodies as the Management API accepts them, with the values of the environment; empty: the environment has no value for
 * the setting.
 */
export interface SettingSeeds {
  readonly alerts: { readonly slack_webhook_url?: string; readonly min_interval_secs?: number };
  readonly auto_router: {
    readonly classifier_enabled?: boolean;
    readonly classifier_model?: string;
    readonly classifier_timeout_ms?: number;
  };
}

export interface Seeded {
  /** The settings that were saved now. */
  readonly saved: readonly string[];
  /** The settings whose values were refused, and why. */
  readonly refused: readonly { readonly setting: string; readonly reason: string }[];
}

/** Saves each setting separately: an invalid one does not keep the others from being saved. Throws 503. */
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
  await seed(alertsSetting, alerts, async () => await alertSettings.save(ctx, alerts));
  await seed(autoRouterSetting, auto_router, async () => await autoRouterSettings.save(ctx, auto_router));
  return { saved, refused };
}

function reasonOf({ message, options }: GatewayError): string {
  return options.details === undefined ? message : inWords(options.details);
}
