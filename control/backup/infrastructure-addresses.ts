/**
 * Checks the addresses of the operator's own infrastructure in a backup's settings: as when a setting is saved, none may be
 * one that is always blocked (docs/rules/network-safety.md#operator-infrastructure).
 */
import * as z from "zod";
import type { Backup } from "../../shared/schema/backup.ts";
import type { VerbContext } from "../kernel/context.ts";
import { alertsSetting, energySetting, jobschedSetting } from "../kernel/settings/definitions.ts";
import { checkInfrastructureHost, checkInfrastructureUrl } from "../kernel/upstream-address.ts";

type Check = (ctx: VerbContext, field: string, text: string, entry: string) => Promise<void>;

/** By the name of a setting: the place of its address, and how the address is checked. */
const ADDRESSES: Readonly<Record<string, { readonly path: readonly string[]; readonly check: Check }>> = {
  [alertsSetting.name]: { path: ["email", "smtp_host"], check: checkInfrastructureHost },
  [energySetting.name]: { path: ["prometheus_url"], check: checkInfrastructureUrl },
  [jobschedSetting.name]: { path: ["url"], check: checkInfrastructureUrl },
};

const record = z.record(z.string(), z.unknown());

/** Throws 400 `address_blocked`, naming the setting, or `validation_failed` for a text that is not an address. */
export async function checkInfrastructure(ctx: VerbContext, data: Backup["data"]): Promise<void> {
  for (const [at, { key, value }] of data.app_settings.entries()) {
    const { path, check } = ADDRESSES[key] ?? {};
    if (path === undefined || check === undefined) continue;
    const text = path.reduce<unknown>((inner, name) => record.safeParse(inner).data?.[name], value);
    if (typeof text !== "string" || text === "") continue;
    const field = path.join(".");
    await check(ctx, `data.app_settings.${at}.value.${field}`, text, `setting '${key}': ${field}`);
  }
}
