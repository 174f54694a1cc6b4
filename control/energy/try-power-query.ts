/** Runs the power query once, the stored or a given one, and saves nothing (docs/rules/settings.md#energy). */
import { GatewayError } from "../../shared/errors.ts";
import { energyTestBodySchema, type PowerReading } from "../../shared/schema/settings/energy.ts";
import type { VerbContext } from "../kernel/context.ts";
import { OutboundError } from "../kernel/outbound/bounded-fetch.ts";
import { parse } from "../kernel/parse.ts";
import { energySetting } from "../kernel/settings/definitions.ts";
import { readSetting } from "../kernel/settings/setting.ts";
import { readPower } from "./power-query.ts";

/** The reading. Throws 400, also `energy_test_failed` with the reason. */
export async function testEnergy(ctx: VerbContext, input: unknown): Promise<PowerReading> {
  const body = parse(energyTestBodySchema, input);
  const { value } = await readSetting(ctx, energySetting);
  const url = body.prometheus_url ?? value.prometheus_url;
  const query = body.power_query ?? value.power_query;
  if (url === "") throw new GatewayError("energy_test_failed", { value: "prometheus_url is not set" });
  if (query === "") throw new GatewayError("energy_test_failed", { value: "power_query is not set" });
  try {
    return await readPower(url, query);
  } catch (error) {
    if (error instanceof OutboundError) throw new GatewayError("energy_test_failed", { value: error.message });
    throw error;
  }
}
