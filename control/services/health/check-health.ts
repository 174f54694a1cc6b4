/**
 * Checks a model now, also one in maintenance or whose checks are off (decisions §10.1). The answer comes when the check
 * is done.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { ModelHealthDetail } from "../../../shared/schema/model-health.ts";
import type { Prober } from "../../health/prober.ts";
import type { VerbContext, Written } from "../context.ts";
import { parseId } from "../parse.ts";
import { inDatabase } from "../write.ts";
import { getHealth } from "./get-health.ts";

/** The model's health after it. Throws 404. */
export async function checkHealth(
  ctx: VerbContext,
  prober: Pick<Prober, "check">,
  id: string,
): Promise<Written<ModelHealthDetail>> {
  const sync = await inDatabase(async () => await prober.check(parseId(id), "manual"));
  if (sync === null) throw new GatewayError("not_found");
  return { record: await getHealth(ctx, id), sync };
}
