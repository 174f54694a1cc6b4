/** Reads the models that an upstream says it serves: `GET {api_base}/models`. */
import { z } from "zod";
import type { SsrfPolicy } from "../../../shared/network/ssrf.ts";
import { accessHeaders, type UpstreamAccess } from "../../../shared/network/upstream-access.ts";
import { fetchJson, OutboundError } from "./bounded-fetch.ts";

const catalogSchema = z.object({ data: z.array(z.object({ id: z.string() })) });

interface CatalogRequest {
  /** Without a slash at its end, unless the upstream requires one. */
  readonly url: string;
  readonly access: UpstreamAccess;
  /** Null: no credential is sent. */
  readonly credential: string | null;
  readonly timeoutMs: number;
  /** Absent: the operator's own upstream. */
  readonly policy?: SsrfPolicy;
  readonly signal?: AbortSignal;
}

/** The address of an upstream's catalog. */
export function catalogUrl(apiBase: string): string {
  return `${apiBase}/models`;
}

/** The ids of the catalog; null when the answer is no list of models. Throws OutboundError when there is no answer. */
export async function readCatalog({ access, credential, ...call }: CatalogRequest): Promise<readonly string[] | null> {
  try {
    const headers = accessHeaders(access, credential);
    // Anthropic lists 20 models where no limit is given
    const url = access.api_dialect === "anthropic" ? `${call.url}?limit=1000` : call.url;
    return catalogSchema.safeParse(await fetchJson({ ...call, url, headers })).data?.data.map(({ id }) => id) ?? null;
  } catch (error) {
    if (error instanceof OutboundError && (error.message === "not json" || error.message === "answer too large"))
      return null;
    throw error;
  }
}
