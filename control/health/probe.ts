/**
 * Checks whether one upstream serves a model: a call of the model's type with up to three attempts, and a look at the
 * catalog when the answer does not decide (docs/rules/health.md#classification, docs/rules/health.md#probes). It keeps
 * no state. It throws {@link ProbeCancelled} when the service ends, and never for what an upstream does.
 */
import { setTimeout as pause } from "node:timers/promises";
import { FormData } from "undici";
import { z } from "zod";
import type { SsrfPolicy } from "../../shared/network/ssrf.ts";
import { accessHeaders, type UpstreamAccess } from "../../shared/network/upstream-access.ts";
import { upstreamUrl } from "../../shared/network/upstream-url.ts";
import { ANSWER_PARTS, parseBounded } from "../kernel/json-parts.ts";
import { fetchAnswer, type OutboundAnswer, OutboundError } from "../kernel/outbound/bounded-fetch.ts";
import type { CatalogCache } from "./catalogs.ts";
import {
  type CatalogListing,
  isLimitRejected,
  isRetryable,
  listingOf,
  type ProbeVerdict,
  verdictOfCatalog,
  verdictOfLimit,
  verdictOfNoAnswer,
  verdictOfRejection,
  verdictOfStatus,
} from "./classify.ts";
import { excerptOf } from "./excerpt.ts";
import type { Finding } from "./finding.ts";
import { type ModelType, type ProbeCall, probeCall } from "./probe-calls.ts";

const ATTEMPTS = 3;
const BACKOFF_MS = 100;

/** Thrown by {@link probe} when its signal is aborted; nothing was found out. */
export class ProbeCancelled extends Error {
  override readonly name = "ProbeCancelled";
}

/** One upstream of a model. */
interface ProbeTarget {
  readonly modelType: ModelType;
  readonly upstreamModel: string;
  readonly apiBase: string;
  readonly access: UpstreamAccess;
  readonly credential: string | null;
  /** Undefined for the operator's own default upstream. */
  readonly policy: SsrfPolicy | undefined;
}

export interface ProbeTools {
  readonly catalogs: CatalogCache;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
}

/** What an inference call used, as the upstream reports it. */
export interface ProbeUsage {
  readonly status: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly latencyMs: number;
}

interface ProbeResult {
  readonly finding: Finding;
  /** One per inference call that was answered. */
  readonly usages: readonly ProbeUsage[];
}

/** Probes a target. Throws ProbeCancelled. */
export async function probe(target: ProbeTarget, tools: ProbeTools): Promise<ProbeResult> {
  const call = probeCall(target.modelType, target.upstreamModel, target.access.api_dialect);
  return call === null
    ? { finding: await findInCatalog(target, tools), usages: [] }
    : await findByCall(target, call, tools);
}

async function findByCall(target: ProbeTarget, first: ProbeCall, tools: ProbeTools): Promise<ProbeResult> {
  const usages: ProbeUsage[] = [];
  let call = first;
  for (let attempt = 1; ; attempt += 1) {
    const startedMs = tools.nowMs();
    const answer = await sendCall(target, call, tools);
    const latencyMs = Math.max(0, Math.round(tools.nowMs() - startedMs));
    if ("status" in answer) usages.push({ ...usageOf(answer), status: answer.status, latencyMs });
    const again = "silence" in answer || isRetryable(answer.status);
    if (again && attempt < ATTEMPTS) {
      await rest(BACKOFF_MS * 2 ** (attempt - 1), tools.signal);
      continue;
    }
    if ("status" in answer && "json" in call && call.otherLimit && isLimitRejected(answer.status, answer.text)) {
      call = { path: call.path, json: call.otherLimit };
      continue;
    }
    const verdict =
      "silence" in answer ? verdictOfNoAnswer(answer.silence) : await classifyAnswer(target, answer, tools);
    return { finding: findingOf(verdict, answer, latencyMs, target.credential), usages };
  }
}

async function findInCatalog(target: ProbeTarget, tools: ProbeTools): Promise<Finding> {
  for (let attempt = 1; ; attempt += 1) {
    const startedMs = tools.nowMs();
    const found = await listing(target, tools);
    const latencyMs = Math.max(0, Math.round(tools.nowMs() - startedMs));
    const again = "silence" in found || ("status" in found && isRetryable(found.status));
    if (again && attempt < ATTEMPTS) {
      await rest(BACKOFF_MS * 2 ** (attempt - 1), tools.signal);
      continue;
    }
    if ("silence" in found) return findingOf(verdictOfNoAnswer(found.silence), null, latencyMs, null);
    if ("listing" in found) return findingOf(verdictOfCatalog(found.listing), { status: 200 }, latencyMs, null);
    // an upstream without a catalog is not faulty; any other status says something about the catalog only
    const verdict = verdictOfStatus(found.status) ?? verdictOfCatalog("unreadable");
    return findingOf(verdict, { status: found.status }, latencyMs, null);
  }
}

async function classifyAnswer(
  target: ProbeTarget,
  { status, text }: OutboundAnswer,
  tools: ProbeTools,
): Promise<ProbeVerdict> {
  const verdict = verdictOfStatus(status) ?? verdictOfLimit(status, text);
  if (verdict !== null) return verdict;
  const found = await listing(target, tools);
  return verdictOfRejection(status, "listing" in found ? found.listing : "unreadable");
}

type Silence = { readonly silence: string };

async function listing(
  { apiBase, access, credential, policy, upstreamModel }: ProbeTarget,
  { catalogs, timeoutMs, signal }: ProbeTools,
): Promise<{ readonly listing: CatalogListing } | { readonly status: number } | Silence> {
  try {
    const ids = await catalogs.read({ apiBase, access, credential, policy, timeoutMs, signal });
    return { listing: listingOf(ids, upstreamModel) };
  } catch (error) {
    if (error instanceof OutboundError && error.status !== null) return { status: error.status };
    return silenceOf(error, signal);
  }
}

async function sendCall(
  { apiBase, access, credential, policy }: ProbeTarget,
  call: ProbeCall,
  { timeoutMs, signal }: ProbeTools,
): Promise<OutboundAnswer | Silence> {
  const headers = {
    ...accessHeaders(access, credential),
    ...("json" in call ? { "content-type": "application/json" } : {}),
  };
  const request = { url: upstreamUrl(apiBase, call.path, ""), timeoutMs, headers, signal };
  try {
    return await fetchAnswer({ ...request, ...(policy === undefined ? {} : { policy }) }, { body: bodyOf(call) });
  } catch (error) {
    return silenceOf(error, signal);
  }
}

function bodyOf(call: ProbeCall): string | FormData {
  if ("json" in call) return JSON.stringify(call.json);
  const form = new FormData();
  for (const [name, value] of Object.entries(call.fields)) form.append(name, value);
  form.append("file", new Blob([call.file], { type: "audio/wav" }), "silence.wav");
  return form;
}

function silenceOf(error: unknown, signal: AbortSignal): Silence {
  if (signal.aborted) throw new ProbeCancelled("the service is stopping");
  if (error instanceof OutboundError) return { silence: error.message };
  throw error;
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(ms, undefined, { signal });
  } catch {
    throw new ProbeCancelled("the service is stopping");
  }
}

const tokens = z.number().int().nonnegative().catch(0).default(0);

/** In both dialects. */
const usageSchema = z.object({
  usage: z.object({ prompt_tokens: tokens, completion_tokens: tokens, input_tokens: tokens, output_tokens: tokens }),
});

function usageOf({ text }: OutboundAnswer): Pick<ProbeUsage, "inputTokens" | "outputTokens"> {
  const usage = usageSchema.safeParse(parsed(text)).data?.usage;
  if (usage === undefined) return { inputTokens: 0, outputTokens: 0 };
  return {
    inputTokens: usage.prompt_tokens || usage.input_tokens,
    outputTokens: usage.completion_tokens || usage.output_tokens,
  };
}

function parsed(text: string | null): unknown {
  try {
    return parseBounded(text ?? "", ANSWER_PARTS);
  } catch {
    return null;
  }
}

function findingOf(
  { outcome, message }: ProbeVerdict,
  answer: OutboundAnswer | { readonly status: number } | Silence | null,
  latencyMs: number,
  credential: string | null,
): Finding {
  const text = answer !== null && "text" in answer ? answer.text : null;
  const httpStatus = answer !== null && "status" in answer ? answer.status : null;
  return { outcome, message, latencyMs, httpStatus, excerpt: text === null ? null : excerptOf(text, credential) };
}
