/**
 * Measures with real load how many concurrent requests a model's upstream serves well
 * (docs/rules/autotune.md#stops-and-recommendation). It recommends and changes nothing; its requests pass no admission
 * and leave no usage row. There is one run at a time per model over all replicas; a run ends after 60 seconds, when its
 * caller leaves, or when the service ends.
 */
import { randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { SealError, unseal } from "../../../shared/crypto/seal.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { accessHeaders } from "../../../shared/network/upstream-access.ts";
import { upstreamUrl } from "../../../shared/network/upstream-url.ts";
import { type AutotuneReport, autotuneSchema } from "../../../shared/schema/autotune.ts";
import { applyAutotuneSchema } from "../../../shared/schema/model.ts";
import { releaseLeases, takeLeases } from "../../db/leases.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import { type ModelRow, models } from "../../db/schema/models.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { withDatabaseErrors } from "../../kernel/database-errors.ts";
import { fieldError, parse, parseId } from "../../kernel/parse.ts";
import { checkUpstreamAddress } from "../../kernel/upstream-address.ts";
import { write } from "../../kernel/write.ts";
import { modelChange } from "../change-model.ts";
import { loadCall } from "./load-call.ts";
import { type KneeFindings, searchKnee } from "./search.ts";
import type { LoadOutcome } from "./step.ts";
import { type LoadTarget, loadTarget } from "./target.ts";

const PROBE_MAX_MS = 60_000;
/**
 * How long a run holds its model: a run whose replica was killed blocks the model only a little longer than it would have
 * lasted.
 */
const LEASE_MS = PROBE_MAX_MS + 10_000;
const REQUEST_MAX_MS = 30_000;
const CHAT_MAX_TOKENS = 8;

interface AutotuneOptions {
  /** The upstream of models without an address. */
  readonly upstreamBaseUrl: string;
  /** Aborted when the caller leaves, or the service ends. */
  readonly caller: AbortSignal;
}

type Modality = AutotuneReport["modality"];

/** Returns the report. Throws 400, also `autotune_unsupported` and `address_blocked`, 404, or 409 `autotune_running`. */
export async function autotuneModel(
  ctx: VerbContext,
  id: string,
  input: unknown,
  options: AutotuneOptions,
): Promise<Written<AutotuneReport>> {
  const modelId = parseId(id);
  const { target_p99_ms, max_concurrency } = parse(autotuneSchema, input);
  const { row, target } = await withDatabaseErrors(async () => await targetOf(ctx, modelId, options.upstreamBaseUrl));
  const modality = modalityOf(row);
  if (!target.isDefault) await checkUpstreamAddress(ctx, "api_base", target.apiBase);
  const send = await senderOf(ctx, target, modality, row.upstream_model, Math.min(REQUEST_MAX_MS, 4 * target_p99_ms));

  const lease = { holder: randomUUID(), names: [`autotune:${modelId}`] };
  const taken = await withDatabaseErrors(async () => await takeLeases(ctx.db, lease, LEASE_MS));
  if (taken.length === 0) throw new GatewayError("autotune_running");
  const beganMs = performance.now();
  try {
    const found = await searchKnee({
      targetP99Ms: target_p99_ms,
      maxConcurrency: max_concurrency,
      send,
      nowMs: () => performance.now(),
      signal: AbortSignal.any([options.caller, AbortSignal.timeout(PROBE_MAX_MS)]),
    });
    const report = {
      model_id: modelId,
      model_name: row.model_name,
      modality,
      target_p99_ms,
      max_concurrency,
      ...figuresOf(found),
      duration_ms: Math.round(performance.now() - beganMs),
    };
    return await audited(ctx, report, found.requests, options.caller.aborted);
  } finally {
    await releaseLeases(ctx.db, lease).catch(() => undefined);
  }
}

/** Sets a model's capacity to what was recommended, or starts the mode `adaptive` there (docs/rules/autotune.md#report). */
export const applyAutotune = modelChange({
  body: applyAutotuneSchema,
  action: "apply_autotune_capacity",
  fields: (body) => body,
  noted: (now) => ({ capacity_tuned_at: now }),
});

async function targetOf(
  { db }: VerbContext,
  modelId: string,
  defaultBase: string,
): Promise<{ readonly row: ModelRow; readonly target: LoadTarget }> {
  const [row] = await db.select().from(models).where(eq(models.id, modelId));
  if (row === undefined) throw new GatewayError("not_found");
  const endpoints = await db.select().from(modelEndpoints).where(eq(modelEndpoints.model_id, modelId));
  return { row, target: loadTarget(row, endpoints, defaultBase) };
}

function modalityOf({ model_type }: ModelRow): Modality {
  if (model_type === "chat" || model_type === "embedding") return model_type;
  throw new GatewayError("autotune_unsupported");
}

async function senderOf(
  { ssrf, sealKey }: VerbContext,
  target: LoadTarget,
  modality: Modality,
  model: string,
  timeoutMs: number,
): Promise<(signal: AbortSignal) => Promise<LoadOutcome>> {
  const secret = target.credential === null ? null : await opened(target.credential, sealKey);
  const chatPath = target.access.api_dialect === "anthropic" ? "/v1/messages" : "/v1/chat/completions";
  const path = modality === "chat" ? chatPath : "/v1/embeddings";
  const asked =
    modality === "chat"
      ? { messages: [{ role: "user", content: "ping" }], max_tokens: CHAT_MAX_TOKENS, stream: false }
      : { input: "ping" };
  const call = {
    url: upstreamUrl(target.apiBase, path, ""),
    headers: accessHeaders(target.access, secret),
    body: JSON.stringify({ model, ...asked }),
    timeoutMs,
    policy: target.isDefault ? null : ssrf,
  };
  return async (signal) => await loadCall({ ...call, signal });
}

async function opened(stored: string, sealKey: VerbContext["sealKey"]): Promise<string> {
  try {
    return await unseal(stored, sealKey);
  } catch (error) {
    if (error instanceof SealError) throw fieldError("api_key", "is stored but cannot be decrypted; set it again");
    throw error;
  }
}

function figuresOf({ maxInFlight, throughputRps, reason, steps }: KneeFindings) {
  const tenths = (ms: number | null): number | null => (ms === null ? null : Math.round(ms * 10) / 10);
  const hundredths = (rps: number): number => Math.round(rps * 100) / 100;
  return {
    recommended_max_in_flight: maxInFlight,
    recommended_throughput_rps: hundredths(throughputRps),
    knee_reason: reason,
    steps: steps.map((step) => ({
      concurrency: step.concurrency,
      throughput_rps: hundredths(step.throughputRps),
      p50_ms: tenths(step.p50Ms),
      p99_ms: tenths(step.p99Ms),
      requests: step.requests,
      errors: step.errors,
    })),
  };
}

/** Writes the run, with what it cost the upstream, to the audit log, even when the caller has left. */
async function audited(
  ctx: VerbContext,
  report: AutotuneReport,
  requests: number,
  callerLeft: boolean,
): Promise<Written<AutotuneReport>> {
  const { target_p99_ms, max_concurrency, recommended_max_in_flight, knee_reason, duration_ms } = report;
  const detail = { target_p99_ms, max_concurrency, recommended_max_in_flight, knee_reason, duration_ms, requests };
  return await write(ctx, async (_tx, journal) => {
    journal.audit({
      action: "autotune_model",
      entityType: "model",
      entityId: report.model_id,
      detail: callerLeft ? { ...detail, cancelled: true } : detail,
    });
    return report;
  });
}
