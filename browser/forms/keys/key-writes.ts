/** Writes of keys, and what is read again after one. */
import { api, type Records } from "../../data/api.ts";
import type { ReadPath } from "../../data/reads.ts";
import type { IfMatch } from "../../data/untyped.ts";
import type { FieldValues } from "../record/drafts.ts";
import type { Answered } from "../record/use-announced-write.ts";

/** What shows keys. */
export const KEY_READS: readonly ReadPath[] = [
  "/api/v1/keys",
  "/api/v1/keys/{id}",
  "/api/v1/keys/{id}/budget/usage",
  "/api/v1/audit",
];

/** Changes name, description, end, models or budget of a key; the body was validated by its form. */
export async function updateKey(id: string, body: FieldValues, header: IfMatch): Answered {
  return await api.PUT("/api/v1/keys/{id}", {
    params: { path: { id }, header },
    body: body as Records["UpdateApiKey"],
  });
}
