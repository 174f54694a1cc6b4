/**
 * Adds an endpoint to a model (docs/rules/models.md#endpoints). The endpoint takes traffic at once, and its first health
 * check is due.
 */
import { GatewayError } from "../../../shared/errors.ts";
import { createModelEndpointSchema, type ModelEndpoint } from "../../../shared/schema/model-endpoint.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { isUniqueViolation } from "../../kernel/database-errors.ts";
import { inheritedKeyWarnings } from "../../kernel/kept-secrets.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { sealNewSecret } from "../../kernel/seal-secret.ts";
import { checkUpstreamAddress } from "../../kernel/upstream-address.ts";
import { auditedWarnings, withWarnings } from "../../kernel/warnings.ts";
import { write } from "../../kernel/write.ts";
import { lockModel } from "../model-record.ts";
import { endpointRecord, touchModel } from "./endpoint-record.ts";

/** The endpoint. Throws 400, 404, 409. */
export async function createEndpoint(ctx: VerbContext, model: string, input: unknown): Promise<Written<ModelEndpoint>> {
  const modelId = parseId(model);
  const { api_key, ...body } = parse(createModelEndpointSchema, input);
  await checkUpstreamAddress(ctx, "api_base", body.api_base);
  const sealed = await sealNewSecret(ctx, api_key, null);
  return await write(ctx, async (tx, journal) => {
    const { row: model } = await lockModel(tx, modelId);
    const now = ctx.now();
    try {
      const [row] = await tx
        .insert(modelEndpoints)
        .values({
          ...body,
          model_id: modelId,
          api_key: sealed,
          next_check_at: now,
          created_at: now,
          updated_at: now,
          rev: journal.rev,
        })
        .returning();
      if (row === undefined) throw new GatewayError("internal_error");
      const warnings = inheritedKeyWarnings(model, [row], { moved: false });
      journal.audit({
        action: "create_model_endpoint",
        entityType: "model_endpoint",
        entityId: row.id,
        detail: { model_id: modelId, name: row.name, api_base: row.api_base, ...auditedWarnings(warnings) },
      });
      await touchModel(tx, journal, modelId);
      journal.checkIsDue = true;
      return withWarnings(endpointRecord(row), warnings);
    } catch (error) {
      if (isUniqueViolation(error))
        throw new GatewayError("already_exists", { value: `model endpoint '${body.name}'`, param: "name" });
      throw error;
    }
  });
}
