/**
 * Saves what the environment says of a setting that was never saved; from then on what is saved holds and the environment
 * is ignored (specification "Events").
 */
import type { VerbContext } from "../context.ts";
import { alertsSetting, autoRouterSetting } from "./definitions.ts";
import { setAlerts } from "./set-alerts.ts";
import { setAutoRouter } from "./set-auto-router.ts";
import { readSetting } from "./setting.ts";

/** Bodies as the Management API takes them; null: the environment says nothing. */
export interface SettingSeeds {
  readonly alerts: { readonly slack_webhook_url: string; readonly min_interval_secs: number } | null;
  readonly auto_router: {
    readonly classifier_enabled: boolean;
    readonly classifier_model: string;
    readonly classifier_timeout_ms: number;
  } | null;
}

/** Names of the settings saved now. Throws what the settings' own verbs throw. */
export async function seedSettings(ctx: VerbContext, seeds: SettingSeeds): Promise<readonly string[]> {
  const seeded: string[] = [];
  if (seeds.alerts !== null && !(await readSetting(ctx, alertsSetting)).saved) {
    await setAlerts(ctx, seeds.alerts);
    seeded.push(alertsSetting.name);
  }
  if (seeds.auto_router !== null && !(await readSetting(ctx, autoRouterSetting)).saved) {
    await setAutoRouter(ctx, seeds.auto_router);
    seeded.push(autoRouterSetting.name);
  }
  return seeded;
}
