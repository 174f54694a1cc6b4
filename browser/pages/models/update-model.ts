/** The general route for changes of a model, which keeps every field that a body does not name. */
import type { QueryClient } from "@tanstack/react-query";
import { api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import type { Answered } from "../../forms/record/use-announced-write.ts";

/** The model as it is now, whatever was read before. Throws ApiError. */
export async function freshModel(queries: QueryClient, id: string): Promise<Records["Model"]> {
  return await queries.fetchQuery({ ...read("/api/v1/models/{id}", { params: { path: { id } } }), staleTime: 0 });
}

/** PUT /models/{id} with some fields. It needs the address and the upstream's name: those that are stored now. */
export async function updateModel(queries: QueryClient, id: string, body: FieldValues): Promise<Awaited<Answered>> {
  const { upstream_model, api_base } = await freshModel(queries, id);
  return await api.PUT("/api/v1/models/{id}", {
    params: { path: { id } },
    body: { upstream_model, api_base, ...body } as Records["UpdateModel"],
  });
}
