/** Reads a model anew, and changes fields of it. */
import type { QueryClient } from "@tanstack/react-query";
import { api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import type { IfMatch } from "../../data/untyped.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import type { Answered } from "../../forms/record/use-announced-write.ts";

/** The model as it is now, whatever was read before. Throws ApiError. */
export async function freshModel(queries: QueryClient, id: string): Promise<Records["Model"]> {
  return await queries.fetchQuery({ ...read("/api/v1/models/{id}", { params: { path: { id } } }), staleTime: 0 });
}

/** Changes the given fields, and no other. */
export async function updateModel(id: string, body: FieldValues, header: IfMatch = {}): Answered {
  return await api.PATCH("/api/v1/models/{id}", {
    params: { path: { id }, header },
    body: body as Records["PatchModel"],
  });
}
