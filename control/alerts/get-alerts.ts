/**
 * Reads where alerts go.
 */
import type { Alerts } from "../../shared/schema/settings/alerts.ts";
import type { VerbContext } from "../kernel/context.ts";
import { alertsSetting } from "../settings/definitions.ts";
import { readSetting } from "../settings/setting.ts";
import { alertsRecord } from "./alerts-record.ts";

/** The settings, without secrets. */
export async function getAlerts(ctx: VerbContext): Promise<Alerts> {
  return alertsRecord((await readSetting(ctx, alertsSetting)).value);
}
