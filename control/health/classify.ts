/**
 * What an answer to a probe shows about the upstream (docs/rules/health.md#classification), as a pure table. An answer
 * that only the catalog can explain is classified together with the catalog; a catalog with a wildcard proves nothing.
 */
import type { HealthOutcome } from "./health-state.ts";

/** What a catalog says about one model. `unreadable`: the upstream answered, but not with a list. */
export type CatalogListing = "listed" | "absent" | "wildcard" | "unreadable";

export interface ProbeVerdict {
  readonly outcome: HealthOutcome;
  readonly message: string;
}

const REJECTED = new Set([400, 404, 422]);

const IN_CATALOG: Readonly<Record<CatalogListing, ProbeVerdict>> = {
  listed: { outcome: "degraded", message: "but the catalog lists the model: check model_type" },
  absent: { outcome: "unhealthy", message: "and the catalog does not list the model" },
  wildcard: { outcome: "unhealthy", message: "and the catalog only has a wildcard entry" },
  unreadable: { outcome: "unhealthy", message: "and the catalog cannot be read" },
};

const IMAGE: Readonly<Record<CatalogListing, ProbeVerdict>> = {
  listed: { outcome: "healthy", message: "the catalog lists the model" },
  absent: { outcome: "unhealthy", message: "the catalog does not list the model" },
  wildcard: {
    outcome: "unknown",
    message: "the catalog has a wildcard entry, so it does not show whether the model is there",
  },
  unreadable: { outcome: "unknown", message: "the catalog cannot be read" },
};

/** True when a call that ended with this status should be tried again. */
export function isRetryable(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** The verdict on the status of an inference call; null: the catalog decides, see {@link verdictOfRejection}. */
export function verdictOfStatus(status: number): ProbeVerdict | null {
  if (status >= 200 && status < 300) return { outcome: "healthy", message: `http ${status}` };
  if (status === 401 || status === 403)
    return { outcome: "unhealthy", message: `http ${status}: the credential is rejected` };
  return REJECTED.has(status) ? null : { outcome: "degraded", message: `http ${status}` };
}

/** True for a rejection of the probe's own limit of output tokens, which says nothing about the model. */
export function isLimitRejected(status: number, text: string | null): boolean {
  return (status === 400 || status === 422) && /max_(?:completion_)?tokens/.test(text ?? "");
}

/** The verdict on a rejection whose text says that the model used up the probe's limit; null for any other. */
export function verdictOfLimit(status: number, text: string | null): ProbeVerdict | null {
  const isReached = isLimitRejected(status, text) && /limit was reached/.test(text ?? "");
  return isReached ? { outcome: "healthy", message: `http ${status}: it answered up to the limit of the probe` } : null;
}

/** The verdict on a rejected call, by what the catalog says. */
export function verdictOfRejection(status: number, listing: CatalogListing): ProbeVerdict {
  const { outcome, message } = IN_CATALOG[listing];
  return { outcome, message: `http ${status}, ${message}` };
}

/** The verdict when there was no answer, or no complete one. `reason` is in our own words. */
export function verdictOfNoAnswer(reason: string): ProbeVerdict {
  return { outcome: "unhealthy", message: `no answer: ${reason}` };
}

/** The verdict on a model that is checked by its catalog only. */
export function verdictOfCatalog(listing: CatalogListing): ProbeVerdict {
  return IMAGE[listing];
}

/** What the ids of a catalog say about a model. A wildcard entry counts more than an entry that names the model. */
export function listingOf(ids: readonly string[] | null, upstreamModel: string): CatalogListing {
  if (ids === null) return "unreadable";
  if (ids.some((id) => id.includes("*"))) return "wildcard";
  return ids.includes(upstreamModel) ? "listed" : "absent";
}
