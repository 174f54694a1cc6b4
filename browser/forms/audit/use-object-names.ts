import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { read } from "../../data/reads.ts";
import type { ObjectNames } from "./audit-words.tsx";

const NAMES_MAX = "1000";

/** What tenants, keys and models are called, as many as one page of each list has. For admins, if `enabled`. */
export function useObjectNames(enabled = true): ObjectNames {
  const init = { params: { query: { limit: NAMES_MAX } } };
  const { data: tenants } = useQuery(read("/api/v1/tenants", init, { enabled }));
  const { data: keys } = useQuery(read("/api/v1/keys", init, { enabled }));
  const { data: models } = useQuery(read("/api/v1/models", init, { enabled }));
  return useMemo(
    () =>
      new Map([
        ...[...(tenants ?? []), ...(keys ?? [])].map(({ id, name }) => [id, name] as const),
        ...(models ?? []).map(({ id, model_name }) => [id, model_name] as const),
      ]),
    [tenants, keys, models],
  );
}
