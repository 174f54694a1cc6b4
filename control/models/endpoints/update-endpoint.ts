/**
 * Updates an endpoint; what is omitted keeps its value. After a change of the address the health is unknown
 * (docs/rules/models.md#endpoints). A health check is due at once when the address, the credential or its header changes, and when the
 * endpoint is switched on or off.
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import { originOf } from "../../../shared/network/origin.ts";
import { type ModelEndpoint, updateModelEndpointSchema } from "../../../shared/schema/model-endpoint.ts";
import { type EndpointRow, modelEndpoints } from "../../db/schema/endpoints.ts";
import type { ModelRow } from "../../db/schema/models.ts";
import { UNKNOWN_ENDPOINT_HEALTH } from "../../health/configuration-change.ts";
import { changedFields } from "../../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { isUniqueViolation } from "../../kernel/database-errors.ts";
import { inheritedKeyWarnings, isKept, keptSecretWarnings } from "../../kernel/kept-secrets.ts";
import { dropUndefined, parse, parseId } from "../../kernel/parse.ts";
import { sealNewSecret } from "../../kernel/seal-secret.ts";
import { checkUpstreamAddress } from "../../kernel/upstream-address.ts";
import { auditedWarnings, withWarnings } from "../../kernel/warnings.ts";
import { write } from "../../kernel/write.ts";
import { endpointRecord, lockEndpoint, touchModel } from "./endpoint-record.ts";

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
    const { model: owner, endpoint: before } = await lockEndpoint(tx, modelId, endpointId);
    ctx.checkRecord?.(endpointRecord(before));
    const wanted = { ...dropUndefined(body), api_key: await sealNewSecret(ctx, api_key, before.api_key) };
    const now = ctx.now();
    const moved = wanted.api_base !== undefined && wanted.api_base !== before.api_base;
    const isDue =
      moved ||
      wanted.api_key !== before.api_key ||
      (wanted.auth_scheme !== undefined && wanted.auth_scheme !== before.auth_scheme) ||
      wanted.enabled === !before.enabled;
    try {
      const [row] = await tx
        .update(modelEndpoints)
        .set({
          ...wanted,
          ...(moved ? UNKNOWN_ENDPOINT_HEALTH : {}),
          ...(isDue ? { next_check_at: now } : {}),
          rev: journal.rev,
          updated_at: now,
        })
        .where(eq(modelEndpoints.id, endpointId))
        .returning();
      if (row === undefined) throw new GatewayError("not_found");
      const warnings = secretWarnings(api_key, owner, before, row);
      journal.audit({
        action: "update_model_endpoint",
        entityType: "model_endpoint",
        entityId: endpointId,
        detail: { model_id: modelId, ...changedFields(before, wanted, ["api_key"]), ...auditedWarnings(warnings) },
      });
      await touchModel(tx, journal, modelId);
      journal.checkIsDue = isDue;
      return withWarnings(endpointRecord(row), warnings);
    } catch (error) {
      if (isUniqueViolation(error))
        throw new GatewayError("already_exists", { value: `model endpoint '${wanted.name ?? ""}'`, param: "name" });
      throw error;
    }
  });
}

/**
 * Warns when a credential, the endpoint's own or the model's, is sent from now on to an origin that did not get it before.
 */
function secretWarnings(
  given: string | null | undefined,
  model: ModelRow,
  before: EndpointRow,
  after: EndpointRow,
): readonly string[] {
  const [from, to] = [originOf(before.api_base), originOf(after.api_base)];
  const kept = isKept(given, before.api_key);
  const moved = from !== to;
  const begins = (before.api_key !== null && after.api_key === null) || (!before.enabled && after.enabled);
  return [
    ...keptSecretWarnings({ secret: "api_key", address: "api_base", kept }, from, to),
    ...(moved || begins ? inheritedKeyWarnings(model, [after], { moved }) : []),
  ];
}
