/**
 * Operational alerts of both planes: the keys, titles and details of docs/rules/alerts.md#issues-and-texts. An issue is a
 * fault; an event is one time that it was raised. A detail is one line of at most 500 characters and never contains a secret, a
 * credential or a prompt: callers pass names, counts, statuses and reasons in our own words.
 */
import * as z from "zod";
import { ALERT_TITLES, type AlertKey } from "./catalogues/alerts.ts";
import { oneLine } from "./text/printable.ts";

const DETAIL_MAX = 500;

/** A fault. Repeats of an issue are recognised by its `issueKey`. */
export interface Issue {
  readonly issueKey: string;
  readonly title: string;
  readonly detail: string;
}

/** One alert on its way to the control service. A second event with the same `id` is the same event, delivered twice. */
export const alertEventSchema = z.object({
  id: z.string(),
  issueKey: z.string(),
  title: z.string(),
  /** The detail of the last time it was raised. */
  detail: z.string(),
  /** When it was raised last, epoch ms. */
  atMs: z.number().int(),
  /**
   * How many times the issue was raised in all, which this event counts: each time is counted in exactly one event
   * (docs/rules/alerts.md#cooldown-and-repeats). Events that an older version stored have no count, and count as one.
   */
  count: z.number().int().min(1).default(1),
});
export type AlertEvent = z.infer<typeof alertEventSchema>;

/**
 * An issue whose detail is one line of limited length, for any names in it. `about`: the rest of its key, when there is an
 * issue for each tenant, key, model, provider or machine.
 */
export function issueOf(alert: AlertKey, detail: string, about = ""): Issue {
  const line = oneLine(detail);
  return {
    issueKey: `${alert}${about}`,
    title: ALERT_TITLES[alert],
    detail: line.length <= DETAIL_MAX ? line : `${line.slice(0, DETAIL_MAX - 3)}...`,
  };
}

/** What a lookup in the key-value store was for. */
export type LookupKind = "key" | "model" | "mcp";

const LOOKUP_NAMES: Readonly<Record<LookupKind, string>> = { key: "api key", model: "model", mcp: "mcp server" };

/** Whose budget could not be checked or settled: the tenant's (with or without the key's), or only the key's. */
type BudgetOwner = "tenant" | "key";

/** The issues of both planes. `reason` is text in the gateway's own words, never a message of another party. */
export const issues = {
  schedulerUnavailable: (cell: string, reason: string): Issue =>
    issueOf("scheduler_unavailable", `cell ${cell}: ${reason}; requests are rejected`),

  lookupFailed: (kind: LookupKind, reason: string): Issue =>
    issueOf(
      `redis_${kind}_lookup_failed`,
      `${LOOKUP_NAMES[kind]}: ${reason}; served from memory where possible, else rejected`,
    ),

  responseCacheFailed: (work: "lookup" | "store", reason: string): Issue =>
    issueOf(`redis_cache_${work}_failed`, `${reason}; request admitted (fail-open)`),

  /** A tenant has more stored objects than it may (docs/rules/routes.md#objects-of-upstreams). */
  storedObjectsForgotten: (tenantId: string, most: number): Issue =>
    issueOf(
      "stored_objects_forgotten",
      `${tenantId}: more than ${most} stored objects in 30 days; the oldest are forgotten`,
      `:${tenantId}`,
    ),

  /** `open`: the request was admitted without a check; else it was refused (docs/rules/budgets.md#unreachable). */
  budgetCheckFailed: (owner: BudgetOwner, open: boolean, reason: string): Issue =>
    issueOf(
      `redis_${owner === "key" ? "key_" : ""}budget_reserve_failed_${open ? "open" : "closed"}`,
      `${reason}; request ${open ? "admitted (fail-open)" : "rejected (fail-closed)"}`,
    ),

  /** `bucket`: the per-minute budget; else the term budget of tenant or key (docs/rules/budgets.md#unreachable). */
  budgetSettlementFailed: (part: "bucket" | BudgetOwner, reason: string): Issue => {
    const key = (
      { bucket: "redis_budget_reconcile", tenant: "redis_term_usage", key: "redis_key_term_usage" } as const
    )[part];
    return issueOf(`${key}_failed`, `${reason}; request was already served`);
  },

  /**
   * A number that is not an amount was refused by a budget: a defect of the gateway itself
   * (docs/rules/budgets.md#amounts). `where`: the part that passed it; `consequence`: what happened to the request or
   * lease.
   */
  budgetAmountRefused: (where: string, field: string, consequence: string): Issue =>
    issueOf(
      "budget_amount_refused",
      `${where}: ${field} is out of range (whole numbers from 0 to ${Number.MAX_SAFE_INTEGER}); ${consequence}`,
    ),

  /**
   * An upstream reported usage that cannot be true (docs/rules/settlement-and-rows.md#reports-that-are-not-believed).
   * `count`: of tokens or seconds, the largest amount for any larger number.
   */
  usageNotBelieved: (model: string, count: number): Issue =>
    issueOf(
      "budget_amount_refused",
      `${model}: its upstream reported a usage of ${count === Number.MAX_SAFE_INTEGER ? "more than " : ""}${count}, which is not plausible; the estimate is billed`,
    ),

  upstreamRequestFailed: (model: string, reason: string, attempts: number, endpoints: number): Issue =>
    issueOf(
      "upstream_request_failed",
      `${model}: ${reason} after ${attempts} attempts on ${endpoints} endpoints`,
      `:${model}`,
    ),

  upstream5xxResponse: (model: string, status: number): Issue =>
    issueOf("upstream_5xx_response", `${model}: upstream answered ${status}`, `:${model}`),

  upstreamStreamError: (model: string, reason: string, bytes: number): Issue =>
    issueOf("upstream_stream_error", `${model}: ${reason} after ${bytes} bytes`, `:${model}`),

  mcpServerFailed: (
    key: "mcp_upstream_request_failed" | "mcp_upstream_5xx_response" | "mcp_tool_discovery_failed",
    server: string,
    reason: string,
  ): Issue => issueOf(key, `${server}: ${reason}`, `:${server}`),

  /** Scanners found something in a request or an answer (docs/rules/guardrails.md#actions). */
  guardrailsMatch: (
    side: "input" | "output",
    tenant: { readonly id: string; readonly name: string },
    scanners: readonly string[],
    action: string,
  ): Issue =>
    issueOf(
      `guardrails_${side}`,
      `${JSON.stringify(tenant.name)}: ${scanners.join(", ")} on ${side}, action ${action}`,
      `_${tenant.id}`,
    ),

  /** The guard model called a request or an answer harmful. */
  guardrailsHarm: (
    side: "input" | "output",
    tenant: { readonly id: string; readonly name: string },
    action: string,
  ): Issue =>
    issueOf(
      `guardrails_${side}_harm`,
      `${JSON.stringify(tenant.name)}: harm on ${side}, action ${action}`,
      `_${tenant.id}`,
    ),

  jwksFetchFailed: (issuerIndex: number, issuer: string, reason: string): Issue =>
    issueOf("jwks_fetch_failed", `${issuer}: ${reason}`, `:${issuerIndex}`),

  identityTenantCreated: (tenant: string, issuer: string): Issue =>
    issueOf("identity_tenant_created", `${JSON.stringify(tenant)}, issuer ${issuer}`, `:${tenant}`),

  /**
   * Rows that the analytics store refuses for their content; they are kept as dead letters
   * (edge/domain/ledger/send-plan.ts).
   */
  usageRowsRefused: (rows: number): Issue =>
    issueOf("usage_rows_refused", `the analytics store refuses ${rows} records; kept aside`),

  modelHealthDown: (model: string, failures: number, last: string): Issue =>
    issueOf("model_health_down", `${model}: ${failures} consecutive failures, last: ${last}`, `:${model}`),

  /** `duration`: in words. */
  modelHealthRecovery: (model: string, duration: string): Issue =>
    issueOf("model_health_recovery", `${model} is healthy again after ${duration}`, `:${model}`),

  /** Wrong admin or internal tokens within a minute (docs/rules/authentication.md#wrong-tokens). */
  adminAuthFailures: (failures: number, addresses: number): Issue =>
    issueOf(
      "admin_auth_failures",
      `${failures} wrong tokens from ${addresses === 1 ? "1 address" : `${addresses} addresses`} in a minute`,
    ),

  /** `reason`: the provisioner's report of its last tick, or why there is none. */
  slurmReconcileHeld: (minutes: number, reason: string): Issue =>
    issueOf("slurm_reconcile_held", `no successful reconcile for ${minutes} min: ${reason}`),

  slurmReconcileRecovered: (): Issue => issueOf("slurm_reconcile_recovered", "reconciling again"),

  usageSpillRefused: (droppedRecords: number): Issue =>
    issueOf("usage_spill_refused", `spill log full; ${droppedRecords} records dropped`),
} as const;
