/**
 * One check of one model (docs/rules/health.md#probes). Recent successful traffic proves that the model is healthy,
 * else it is probed. Each of its endpoints is probed too, because traffic of the model proves nothing about a single
 * endpoint. Probes run outside of transactions. save-check.ts stores the outcome.
 */

import { SealError, unseal } from "../../shared/crypto/seal.ts";
import { GatewayError } from "../../shared/errors.ts";
import { accessOf } from "../../shared/network/upstream-access.ts";
import type { EndpointRow } from "../db/schema/endpoints.ts";
import type { VerbContext } from "../kernel/context.ts";
import { recentOutcomes, recentSuccess } from "../usage/analytics/recent-traffic.ts";
import type { AnalyticsStore } from "../usage/analytics/store.ts";
import type { CatalogCache } from "./catalogs.ts";
import type { CheckPlan, CheckTrigger } from "./check-plan.ts";
import { type Finding, findingOf, findingOfEndpoints, findingWithTraffic } from "./finding.ts";
import { type ProbeTools, type ProbeUsage, probe } from "./probe.ts";
import { modelTypeOf } from "./probe-calls.ts";

export interface CheckTools {
  readonly ctx: VerbContext;
  readonly analytics: AnalyticsStore;
  readonly catalogs: CatalogCache;
  readonly timeoutMs: number;
  /** The upstream of models that have neither an address nor endpoints. */
  readonly defaultBase: string;
}

/** What a check found at the model and, by id, at each of its endpoints. */
export interface CheckFindings {
  readonly model: Finding;
  readonly endpoints: ReadonlyMap<string, Finding>;
  readonly usages: readonly ProbeUsage[];
}

/**
 * Makes the check. One that somebody has asked for probes whatever earlier traffic proves. Throws ProbeCancelled when the signal is
 * aborted.
 */
export async function checkModel(
  tools: CheckTools,
  plan: CheckPlan,
  trigger: CheckTrigger,
  signal: AbortSignal,
): Promise<CheckFindings> {
  const usages: ProbeUsage[] = [];
  const probeAddress = async (apiBase: string, secret: string | null, scheme: string | null): Promise<Finding> => {
    const { finding, usages: used } = await probeAt(tools, plan, { apiBase, secret, scheme }, signal);
    usages.push(...used);
    return finding;
  };
  const [proof, found] = await Promise.all([
    trigger === "manual" ? null : proofOf(tools, plan),
    Promise.all(
      plan.endpoints.map(
        async (row) =>
          [row.id, await probeAddress(row.api_base, secretOf(row) ?? plan.model.api_key, row.auth_scheme)] as const,
      ),
    ),
  ]);
  const ofEndpoints = plan.model.api_base === "" && (plan.endpoints.length > 0 || plan.minReplicas !== null);
  const probed = async (): Promise<Finding> =>
    ofEndpoints
      ? findingOfEndpoints(
          found.map(([, { outcome }]) => outcome),
          plan.minReplicas,
        )
      : await probeAddress(plan.model.api_base, plan.model.api_key, null);
  const model = proof ?? (await besideTraffic(tools, plan, await probed()));
  return { model, endpoints: new Map(found), usages };
}

/** The finding, made worse where every request since the last check failed; as it is while the ledger does not answer. */
async function besideTraffic({ ctx, analytics }: CheckTools, plan: CheckPlan, found: Finding): Promise<Finding> {
  try {
    return findingWithTraffic(found, await recentOutcomes(analytics, plan.model.model_name, evidenceFromMs(ctx, plan)));
  } catch (error) {
    if (error instanceof GatewayError) return found;
    throw error;
  }
}

/** From when on requests say something about the model as it is now, epoch ms. */
function evidenceFromMs(ctx: VerbContext, { model, health }: CheckPlan): number {
  const withinMs = ctx.now().getTime() - model.health_check_interval_secs * 1000;
  return Math.max(0, withinMs, health?.evidence_from?.getTime() ?? 0);
}

/** What recent requests of the model prove; null: nothing, or the ledger does not answer. */
async function proofOf({ ctx, analytics }: CheckTools, plan: CheckPlan): Promise<Finding | null> {
  try {
    const success = await recentSuccess(analytics, plan.model.model_name, evidenceFromMs(ctx, plan));
    if (success === null) return null;
    const message = `served a request at ${new Date(success.atMs).toISOString()}`;
    return { ...findingOf("healthy", message), latencyMs: success.totalMs, httpStatus: success.statusCode };
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

interface ProbeAddress {
  readonly apiBase: string;
  readonly secret: string | null;
  /** The endpoint's own; null: the model's. */
  readonly scheme: string | null;
}

async function probeAt(
  { ctx, catalogs, timeoutMs, defaultBase }: CheckTools,
  { model }: CheckPlan,
  { apiBase, secret, scheme }: ProbeAddress,
  signal: AbortSignal,
): Promise<{ readonly finding: Finding; readonly usages: readonly ProbeUsage[] }> {
  const tools: ProbeTools = { catalogs, timeoutMs, signal, nowMs: () => performance.now() };
  const target = {
    modelType: modelTypeOf(model.model_type),
    upstreamModel: model.upstream_model,
    apiBase: apiBase === "" ? defaultBase : apiBase,
    access: accessOf(model, scheme),
    policy: apiBase === "" ? undefined : ctx.ssrf,
  };
  try {
    const credential = secret === null || secret === "" ? null : await unseal(secret, ctx.sealKey);
    return await probe({ ...target, credential }, tools);
  } catch (error) {
    if (error instanceof SealError)
      return { finding: findingOf("unhealthy", "the stored credential cannot be read"), usages: [] };
    throw error;
  }
}

function secretOf({ api_key }: EndpointRow): string | null {
  return api_key === "" ? null : api_key;
}
