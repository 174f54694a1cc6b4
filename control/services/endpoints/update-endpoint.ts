/**
 * Updates an endpoint; what is omitted keeps its value. Another address has no health yet: it is unknown, and a check of
 * it is due at once (decisions §6).
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import { type ModelEndpoint, updateModelEndpointSchema } from "../../../shared/schema/model-endpoint.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import { changedFields } from "../changes.ts";
import type { VerbContext, Written } from "../context.ts";
import { dropUndefined, parse, parseId } from "../parse.ts";
import { sealedSecret } from "../secrets.ts";
import { checkUpstreamAddress } from "../upstream-address.ts";
import { isUniqueViolation, write } from "../write.ts";
import { endpointRecord, lockEndpoint, touchModel } from "./endpoint-record.ts";

const NO_HEALTH_YET = {
  health_status: "unknown",
  consecutive_failures: 0,
  alert_state: "ok",
  last_checked_at: null,
  last_latency_ms: null,
  last_http_status: null,
  last_message: null,
  failing_since: null,
};

/** The endpoint. Throws 400, 404, 409. */
export async function updateEndpoint(
  ctx: VerbContext,
  model: string,
  id: string,
  input: unknown,
): Promise<Written<ModelEndpoint>> {
  const [modelId, endpointId] = [parseId(model), parseId(id)];
  const { api_key, ...body } = parse(updateModelEndpointSchema, input);
  if (body.api_base !== undefined) await checkUpstreamAddress(ctx, "api_base", body.api_base);
  return await write(ctx, async (tx, journal) => {
    const before = await lockEndpoint(tx, modelId, endpointId);
    const wanted = { ...dropUndefined(body), api_key: await sealedSecret(ctx, api_key, before.api_key) };
    const now = ctx.now();
    const moved = wanted.api_base !== undefined && wanted.api_base !== before.api_base;
    try {
      const [row] = await tx
        .update(modelEndpoints)
        .set({
          ...wanted,
          ...(moved ? { ...NO_HEALTH_YET, next_check_at: now } : {}),
          rev: journal.rev,
          updated_at: now,
        })
        .where(eq(modelEndpoints.id, endpointId))
        .returning();
      if (row === undefined) throw new GatewayError("not_found");
      journal.audit({
        action: "update_model_endpoint",
        entityType: "model_endpoint",
        entityId: endpointId,
        detail: { model_id: modelId, ...changedFields(before, wanted, ["api_key"]) },
      });
      await touchModel(tx, journal, modelId);
      journal.checkIsDue = moved;
      return endpointRecord(row);
    } catch (error) {
      if (isUniqueViolation(error))
        throw new GatewayError("already_exists", { value: `model endpoint '${wanted.name ?? ""}'`, param: "name" });
      throw error;
    }
  });
}
