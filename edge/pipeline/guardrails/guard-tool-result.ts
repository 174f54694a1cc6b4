/**
 * The result of a tool that the gateway called itself: it is input of the model like a prompt, and comes from a party that
 * nobody checks (docs/rules/guardrails.md#tool-results).
 */
import type { OpenSpan } from "../../domain/trace/trace.ts";
import type { Call } from "../call/context.ts";
import type { Prepared } from "../call/known.ts";
import { withSpan } from "../report/spans.ts";
import { BLOCKED_RESULT } from "./guard-input.ts";
import { type Guards, guardsOf, isBlocking } from "./guards.ts";
import { judgeHarm } from "./judge-harm.ts";
import { countsOf, reportScan } from "./report-scan.ts";

/**
 * The result as the model may see it by the tenant's input guardrails: unchanged, redacted, or an error in its place.
 * Throws ClientGone.
 */
export async function guardToolResult(call: Call, request: Prepared, text: string): Promise<string> {
  const guards = guardsOf(request.principal.tenant, "input");
  if (guards === null) return text;
  return await withSpan(call, "boon:guardrails_input", async (span) => await guarded(call, request, guards, text, span));
}

async function guarded(call: Call, request: Prepared, guards: Guards, text: string, span: OpenSpan): Promise<string> {
  const { clock } = call.ports;
  const texts = [{ text, user: false }];
  const startedMs = clock();
  const matches = guards.scan.scanTexts(texts);
  const scannedMs = clock();
  const blocked = matches.some(({ scanner }) => isBlocking(guards, scanner));
  const harm = guards.guardModel === null || blocked ? null : await judgeHarm(call, request, guards.guardModel, text);
  const times = { textMs: scannedMs - startedMs, harmMs: clock() - scannedMs };
  reportScan(call, request, span, { side: "input", guards, counts: countsOf(matches), harm, ...times });
  const refused = guards.action !== "log_only" && harm === "failed" && !guards.failOpen;
  if (blocked || refused || (harm === "unsafe" && isBlocking(guards, "harm"))) return BLOCKED_RESULT;
  return guards.action === "redact" ? (guards.scan.redactTexts(texts).texts[0] ?? text) : text;
}
