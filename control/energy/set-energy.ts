/**
 * Changes the energy settings. Accounting cannot be on without a place to read the power from (decisions §9.3).
 */
import { type Energy, energyBodySchema } from "../../shared/schema/settings/energy.ts";
import type { HotStore } from "../hot-store/hot-store.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { dropUndefined, parse, requireWhenEnabled } from "../kernel/parse.ts";
import { checkInfrastructureUrl } from "../kernel/upstream-address.ts";
import { energySetting } from "../settings/definitions.ts";
import { saveSetting } from "../settings/setting.ts";
import { energyRecord } from "./energy-record.ts";

/** The settings. Throws 400, also `address_blocked`. */
export async function setEnergy(ctx: VerbContext, store: HotStore, input: unknown): Promise<Written<Energy>> {
  const body = dropUndefined(parse(energyBodySchema, input));
  await checkInfrastructureUrl(ctx, "prometheus_url", body.prometheus_url ?? "");
  const { record, sync } = await saveSetting(ctx, energySetting, (before) => {
    const wanted = { ...before, ...body };
    if (wanted.enabled) requireWhenEnabled(wanted, ["prometheus_url", "power_query"]);
    return wanted;
  });
  return { record: await energyRecord(store, record), sync };
}
