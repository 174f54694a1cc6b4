/**
 * Reads where alerts go.
 */
import type { Alerts } from "../../../shared/schema/settings/alerts.ts";
import type { VerbContext } from "../context.ts";
import { alertsRecord } from "./alerts-record.ts";
import { alertsSetting } from "./definitions.ts";
import { readSetting } from "./setting.ts";

/** The settings, without secrets. */
export async function getAlerts(ctx: VerbContext): Promise<Alerts> {
  return alertsRecord((await readSetting(ctx, alertsSetting)).value);
}
