/**
 * Why one request was slow, refused or failed, and what would change that, from its usage row alone
 * (docs/rules/console-figures.md#explanations). Pure.
 */

import type { UsageLog } from "../../shared/schema/usage.ts";
import { oneLine } from "../../shared/text/printable.ts";
import type { OperatorField } from "../../shared/usage/usage-row.ts";
import { explainTexts } from "../messages/en/explain.ts";
import { texts } from "../messages/texts.ts";
import { formatCount, formatMs, formatShare } from "../ui/format.ts";
import { errorTarget, isForOperators } from "./error-target.ts";
import { errorName, explainError } from "./explain-error.ts";
import { type LinkTarget, modelTarget, pageTarget, reachable, tenantTarget, type Viewer } from "./link-target.ts";
import { measured, type Phase, requestPhases, SLOW_MS, streamTokensPerSec } from "./request-phases.ts";

const text = texts("explain", explainTexts);

/** The fields of a row that are read; those of operators are absent for a tenant's own users, and not known then. */
export type ExplainedRow = Pick<
  UsageLog,
  | "request_id"
  | "tenant_id"
  | "key_id"
  | "model"
  | "admission"
  | "cache_status"
  | "status_code"
  | "error_code"
  | "output_tokens"
  | "total_tokens"
  | "queue_wait_ms"
  | "ttft_ms"
  | "total_ms"
  | "gateway_ms"
> & { readonly [Field in OperatorField]?: UsageLog[Field] | undefined };

/** What would change it, and where; null: nowhere in the console. */
interface Advice {
  readonly text: string;
  readonly link: LinkTarget | null;
}

/** A request in words. */
interface RequestExplanation {
  readonly tone: "good" | "warn" | "bad" | "neutral";
  readonly title: string;
  readonly sentences: readonly string[];
  readonly advice: readonly Advice[];
}

/** From this part of the whole time on a part of it is worth a sentence. */
const WORTH_SAYING = 0.2;
/** The rest of the time is the gateway's own. */
const IN_QUEUE_TO_THE_END = 0.9;
/** Where less time went is of no interest. */
const TOLD_FROM_MS = 100;

/** A row in words, for one who may or may not change the gateway. */
export function explainRequest(row: ExplainedRow, viewer: Viewer): RequestExplanation {
  const outcome = outcomeOf(row, viewer);
  const attempts = measured(row.attempts);
  const phases = [...requestPhases(row)].sort((a, b) => b.durationMs - a.durationMs);
  const [longest] = phases;
  const wholeMs = measured(row.total_ms);
  const isError = outcome.tone === "bad" || outcome.tone === "warn";
  const times =
    wholeMs < (isError ? SLOW_MS : TOLD_FROM_MS)
      ? []
      : phases.filter(({ durationMs }) => durationMs >= wholeMs * WORTH_SAYING);
  // what would have made an error come sooner is of no use, but for the queue
  const isSlow = longest !== undefined && wholeMs >= SLOW_MS && (!isError || longest.id === "queue");
  return {
    tone: outcome.tone,
    title: outcome.title,
    sentences: [
      ...outcome.sentences,
      ...times.map((phase) => timeSentence(phase, row)),
      ...speedSentence(phases, row),
      ...(attempts > 1 || (attempts === 1 && outcome.tone === "bad" && row.endpoint !== "")
        ? [attemptsSentence(attempts, row.endpoint)]
        : []),
    ],
    advice: [...outcome.advice, ...(isSlow ? [phaseAdvice(longest, row, viewer)] : [])],
  };
}

function outcomeOf(row: ExplainedRow, viewer: Viewer): RequestExplanation {
  const { error_code: code, status_code: status } = row;
  if (code === "client_gone" || status === 499) return leftOutcome(row);
  if (code !== "") return gatewayOutcome(row, viewer);
  if (status >= 400) return upstreamOutcome(row, viewer);
  const isCached = row.cache_status === "hit";
  const isServed = status >= 200 && status < 400;
  const whole = { whole: formatMs(measured(row.total_ms)) };
  return {
    tone: isServed ? "good" : "neutral",
    title: isCached ? text("titleCached") : isServed ? text("titleServed") : text("otherAnswer", { status }),
    sentences: isCached ? [text("servedFromCache", whole)] : isServed ? [text("served", whole)] : [],
    advice: [],
  };
}

function gatewayOutcome(row: ExplainedRow, viewer: Viewer): RequestExplanation {
  const { status_code: status } = row;
  const code = oneLine(row.error_code);
  const known = explainError(code);
  const isFailure = status >= 500;
  const isCutOff = !isFailure && measured(row.output_tokens) > 0;
  const title = isFailure ? "failed" : isCutOff ? "cutOff" : "refused";
  const fix = known && { text: known.fix, link: reachable(errorTarget(code, row), viewer) };
  const ask = { text: text("askOperator", { requestId: row.request_id }), link: null };
  const advice = viewer === "user" && isForOperators(code) ? ask : fix;
  return {
    tone: isFailure ? "bad" : "warn",
    title: text(title, { status, name: errorName(code), whole: formatMs(measured(row.total_ms)) }),
    sentences: [known?.why ?? text("unknownCode", { code })],
    advice: advice === null ? [] : [advice],
  };
}

function upstreamOutcome(row: ExplainedRow, viewer: Viewer): RequestExplanation {
  const { status_code: status, upstream_status: upstreamStatus = 0 } = row;
  const isKnown = upstreamStatus >= 400;
  const fix = upstreamAdvice(isKnown ? upstreamStatus : status);
  const isOfRequest = row.model === "" || fix === "upstreamRequest";
  const target = isOfRequest ? modelRequests(row) : modelTarget(row.model, "connection");
  return {
    tone: "bad",
    title: text("upstreamError", { status: isKnown ? upstreamStatus : status }),
    sentences: [isKnown ? text("upstreamOwn", { upstreamStatus, status }) : text("upstreamOwnUnknown")],
    advice: [
      {
        text: text(viewer === "user" && fix !== "upstreamRequest" ? "upstreamUser" : fix),
        link: reachable(target, viewer),
      },
    ],
  };
}

function upstreamAdvice(status: number) {
  if (status === 401 || status === 403) return "upstreamCredential";
  if (status === 404 || status === 405) return "upstreamMissing";
  if (status === 429) return "upstreamBusy";
  return status >= 500 ? "upstreamDown" : "upstreamRequest";
}

function leftOutcome(row: ExplainedRow): RequestExplanation {
  return {
    tone: "neutral",
    title: text("left", { whole: formatMs(measured(row.total_ms)) }),
    sentences: [text(whereLeft(row))],
    advice: [{ text: text("leftFix"), link: null }],
  };
}

/** How far a request was when its client left. A tenant's people do not see attempts: then its times and its charge say it. */
function whereLeft({ attempts, ttft_ms, queue_wait_ms, total_ms, total_tokens, admission }: ExplainedRow) {
  if (measured(ttft_ms) > 0) return "leftInStream";
  if (measured(attempts) > 0) return "leftBeforeFirst";
  if (attempts !== undefined) return admission === "queued" ? "leftInQueue" : "leftBeforeCall";
  if (measured(total_tokens) > 0) return "leftInStream";
  const wasQueuedToTheEnd = measured(queue_wait_ms) >= measured(total_ms) * IN_QUEUE_TO_THE_END;
  return admission === "queued" && wasQueuedToTheEnd ? "leftInQueue" : "leftUncharged";
}

function timeSentence({ id, durationMs }: Phase, row: ExplainedRow): string {
  const wholeMs = measured(row.total_ms);
  const values = { duration: formatMs(durationMs), whole: formatMs(wholeMs), share: formatShare(durationMs / wholeMs) };
  return text(`time_${id}`, values);
}

function speedSentence(phases: readonly Phase[], row: ExplainedRow): readonly string[] {
  const rate = streamTokensPerSec(phases, row);
  return rate === null
    ? []
    : [text("speed", { tokens: measured(row.output_tokens), rate: formatCount(Math.round(rate)) })];
}

function attemptsSentence(count: number, endpoint: string | undefined): string {
  if (endpoint === undefined || endpoint === "") return text("attempts", { count });
  return text("attemptsEndpoint", { count, endpoint });
}

function phaseAdvice({ id }: Phase, row: ExplainedRow, viewer: Viewer): Advice {
  switch (id) {
    case "queue": {
      const link = pageTarget("/fairshare", { tenant_id: row.tenant_id });
      return { text: text(viewer === "user" ? "fix_queue_user" : "fix_queue"), link: reachable(link, viewer) };
    }
    case "gateway": {
      const isRetrying = measured(row.attempts) > 1;
      const link = isRetrying ? modelRequests(row) : tenantTarget(row.tenant_id, "overview");
      return { text: text(isRetrying ? "fix_gateway_attempts" : "fix_gateway"), link };
    }
    case "first_token":
    case "stream":
    case "stream_and_attempts":
    case "upstream":
      return { text: text(`fix_${id}`), link: modelRequests(row) };
    default:
      return id satisfies never;
  }
}

/** Other requests of the same model; of one that is not known there is nothing to see. */
function modelRequests({ model }: ExplainedRow): LinkTarget | null {
  return model === "" ? null : pageTarget("/logs", { model });
}
