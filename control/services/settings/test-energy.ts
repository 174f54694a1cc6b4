/**
 * Runs the power query once, stored or given, and saves nothing (decisions §9.3).
 */
import { GatewayError } from "../../../shared/errors.ts";
import { energyTestBodySchema, type PowerReading } from "../../../shared/schema/settings/energy.ts";
import { AskError } from "../../outbound/ask-json.ts";
import { readPower } from "../../outbound/power-query.ts";
import type { VerbContext } from "../context.ts";
import { parse } from "../parse.ts";
import { energySetting } from "./definitions.ts";
import { readSetting } from "./setting.ts";

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
    if (error instanceof AskError) throw new GatewayError("energy_test_failed", { value: error.message });
    throw error;
  }
}
