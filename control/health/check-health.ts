/**
 * Checks a model now, even one in maintenance or whose checks are off (docs/rules/health.md#records). The answer comes
 * when the check is done.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { ModelHealthDetail } from "../../shared/schema/model-health.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { parseId } from "../kernel/parse.ts";
import { getHealth } from "./get-health.ts";
import type { Prober } from "./prober.ts";

/** The model's health after the check. Throws 404. */
export async function checkHealth(
  ctx: VerbContext,
  prober: Pick<Prober, "check">,
  id: string,
): Promise<Written<ModelHealthDetail>> {
  const sync = await withDatabaseErrors(async () => await prober.check(parseId(id), "manual"));
  if (sync === null) throw new GatewayError("not_found");
  return { record: await getHealth(ctx, id), sync };
}
