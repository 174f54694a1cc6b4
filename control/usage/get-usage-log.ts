/**
 * GET /usage/logs/{request_id}: one request with its trace, and why the auto router chose its model
 * (docs/rules/usage-reads.md#logs, docs/rules/auto-router.md#explanation).
 */
import * as z from "zod";
import { GatewayError } from "../../shared/errors.ts";
import type { AutoRoute, Span, UsageLogDetail } from "../../shared/schema/usage-reads.ts";
import type { VerbContext } from "../kernel/context.ts";
import { parseId } from "../kernel/parse.ts";
import { CHOICE_SPAN, readSpans, traceAmong } from "./analytics/spans.ts";
import type { AnalyticsStore } from "./analytics/store.ts";
import { readLogs } from "./analytics/usage-logs.ts";
import { withNames } from "./named-reads.ts";

/** The attributes of the span of a choice; `scores` has one number per candidate. */
const choiceSchema = z.object({
  chosen: z.string().nullable(),
  source: z.string(),
  tags: z.array(z.string()),
  candidates: z.array(z.string()),
  scores: z.array(z.number()),
  excluded: z.array(z.string()),
});

/** The request. Throws 404 when the ledger has no row with this id, 503. */
export async function getUsageLog(ctx: VerbContext, analytics: AnalyticsStore, id: string): Promise<UsageLogDetail> {
  const requestId = parseId(id);
  const query = { request_id: requestId, include_internal: true, since_ms: 0, limit: 1 };
  const [log] = await withNames(ctx, await readLogs(analytics, query, ctx.now().getTime()));
  if (log === undefined) throw new GatewayError("not_found");
  const spans = await readSpans(analytics, requestId);
  return { ...log, spans: [...traceAmong(spans)], auto_route: choiceAmong(spans) };
}

/** The last choice among the spans: a model may have been chosen again. Null: the client has named the model. */
function choiceAmong(spans: readonly Span[]): AutoRoute | null {
  const text = spans.findLast(({ span_name }) => span_name === CHOICE_SPAN)?.attributes;
  const { data } = choiceSchema.safeParse(text === undefined ? null : parsedJson(text));
  if (data === undefined) return null;
  const { chosen, source, tags, candidates, scores, excluded } = data;
  return {
    chosen,
    source,
    tags,
    candidates: candidates.map((model, at) => ({ model, score: scores[at] ?? 0 })),
    excluded: excluded.map((line) => {
      const end = line.lastIndexOf(": ");
      return { model: line.slice(0, end), condition: line.slice(end + 2) };
    }),
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
