/** What shows managed models, and how a spec is written. */
import { answerValue, api, type Records } from "../../data/api.ts";
import type { ReadPath } from "../../data/reads.ts";
import type { IfMatch } from "../../data/untyped.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import type { Answered } from "../../forms/record/use-announced-write.ts";

export const DEPLOYMENT_READS: readonly ReadPath[] = [
  "/api/v1/managed",
  "/api/v1/models/{id}/managed",
  "/api/v1/replicas",
  "/api/v1/audit",
  "/api/v1/overview/attention",
];

export const RECIPE_READS: readonly ReadPath[] = ["/api/v1/recipes"];

/** What a whole spec is stored as: all but what the server says about it. */
export function specBody(spec: Records["ManagedModel"]): Records["PutManagedModel"] {
  const {
    model_id: _id,
    model_name: _name,
    model_type: _type,
    upstream_model: _upstream,
    replicas: _replicas,
    provision_error: _error,
    created_at: _created,
    updated_at: _updated,
    rev: _rev,
    ...body
  } = spec;
  return body;
}

/** The spec at the moment. Throws ApiError. */
export async function specNow(id: string): Promise<Records["ManagedModel"]> {
  return answerValue(await api.GET("/api/v1/models/{id}/managed", { params: { path: { id } } }));
}

/** Changes some fields of a spec, and no other. */
export async function changeSpec(id: string, change: FieldValues, header: IfMatch = {}): Answered {
  return await api.PATCH("/api/v1/models/{id}/managed", {
    params: { path: { id }, header },
    body: change as Records["PatchManagedModel"],
  });
}

/** Creates a spec: what it leaves out gets its default. Refused for a model that has one. */
export async function putSpec(id: string, body: FieldValues): Answered {
  return await api.PUT("/api/v1/models/{id}/managed", {
    params: { path: { id }, header: { "if-none-match": "*" } },
    body: body as Records["PutManagedModel"],
  });
}
