/**
 * What an answer to a probe says of the upstream (decisions §10.3), as a pure table. An answer that only the catalog can
 * explain is judged with it; a catalog with a wildcard proves nothing.
 */
import type { HealthOutcome } from "./health-state.ts";

/** What a catalog says of one model. `unreadable`: it answered, but with no list. */
export type CatalogListing = "listed" | "absent" | "wildcard" | "unreadable";

export interface ProbeVerdict {
  readonly outcome: HealthOutcome;
  readonly message: string;
}

const REJECTED = new Set([400, 404, 422]);

const IN_CATALOG: Readonly<Record<CatalogListing, ProbeVerdict>> = {
  listed: { outcome: "degraded", message: "though the catalog lists the model: the model_type may be wrong" },
  absent: { outcome: "unhealthy", message: "and the catalog does not list the model" },
  wildcard: { outcome: "unhealthy", message: "and the catalog has a wildcard entry, which proves nothing" },
  unreadable: { outcome: "unhealthy", message: "and the catalog cannot be read" },
};

const IMAGE: Readonly<Record<CatalogListing, ProbeVerdict>> = {
  listed: { outcome: "healthy", message: "the catalog lists the model" },
  absent: { outcome: "unhealthy", message: "the catalog does not list the model" },
  wildcard: { outcome: "unknown", message: "the catalog has a wildcard entry, which proves nothing" },
  unreadable: { outcome: "unknown", message: "the catalog cannot be read" },
};

/** True when the status is worth another attempt. */
export function isRetryable(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** The verdict on an inference call's status; null: the catalog decides, see {@link verdictOfRejection}. */
export function verdictOfStatus(status: number): ProbeVerdict | null {
  if (status >= 200 && status < 300) return { outcome: "healthy", message: `http ${status}` };
  if (status === 401 || status === 403)
    return { outcome: "unhealthy", message: `http ${status}: the credential is refused` };
  return REJECTED.has(status) ? null : { outcome: "degraded", message: `http ${status}` };
}

/** The verdict on a call that was rejected, by what the catalog says. */
export function verdictOfRejection(status: number, listing: CatalogListing): ProbeVerdict {
  const { outcome, message } = IN_CATALOG[listing];
  return { outcome, message: `http ${status}, ${message}` };
}

/** Nobody answered, or nothing whole. `reason` is of our own words. */
export function verdictOfNoAnswer(reason: string): ProbeVerdict {
  return { outcome: "unhealthy", message: `no answer: ${reason}` };
}

/** The verdict on a model whose catalog is its only check. */
export function verdictOfCatalog(listing: CatalogListing): ProbeVerdict {
  return IMAGE[listing];
}

/** What the ids of a catalog say of a model. An entry that stands for any model outweighs one that names it. */
export function listingOf(ids: readonly string[] | null, upstreamModel: string): CatalogListing {
  if (ids === null) return "unreadable";
  if (ids.some((id) => id.includes("*"))) return "wildcard";
  return ids.includes(upstreamModel) ? "listed" : "absent";
}
