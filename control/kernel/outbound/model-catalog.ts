/** Reads the models that an upstream says it serves: `GET {api_base}/models`. */
import { z } from "zod";
import type { SsrfPolicy } from "../../../shared/network/ssrf.ts";
import { fetchJson, OutboundError } from "./bounded-fetch.ts";

const catalogSchema = z.object({ data: z.array(z.object({ id: z.string() })) });

interface CatalogRequest {
  /** Without a slash at its end, unless the upstream requires one. */
  readonly url: string;
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
export async function readCatalog({ credential, ...call }: CatalogRequest): Promise<readonly string[] | null> {
  try {
    const headers = authorizationHeader(credential);
    return catalogSchema.safeParse(await fetchJson({ ...call, headers })).data?.data.map(({ id }) => id) ?? null;
  } catch (error) {
    if (error instanceof OutboundError && (error.message === "not json" || error.message === "answer too large"))
      return null;
    throw error;
  }
}

/** The header that carries an upstream's credential. */
export function authorizationHeader(credential: string | null): Record<string, string> {
  return credential === null ? {} : { authorization: `Bearer ${credential}` };
}
