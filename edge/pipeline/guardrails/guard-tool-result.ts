/**
 * The result of a tool that the gateway called itself, or of a model that it asked for a description of an image: it is input
 * of the model like a prompt, and comes from an unchecked party (docs/rules/guardrails.md#tool-results).
 */
import type { Steps } from "../../../shared/steps.ts";
import type { OpenSpan } from "../../domain/trace/trace.ts";
import type { Call } from "../call/context.ts";
import { type Guards, guardsOf } from "../call/guards.ts";
import { inTurns } from "../call/in-turns.ts";
import type { Prepared } from "../call/known.ts";
import { withSpan } from "../call/report/spans.ts";
import { BLOCKED_RESULT } from "./guard-input.ts";
import { lookBeside } from "./look-beside.ts";
import { runScan, scanRoom } from "./run-scan.ts";

/**
 * The result as the model may see it by the tenant's input guardrails: unchanged, redacted, or an error in its place. A
 * policy that only looks delays no result: it is examined beside the request. Throws ClientGone.
 */
export async function guardToolResult(call: Call, request: Prepared, text: string): Promise<string> {
  const guards = guardsOf(request.principal.tenant, "input");
  if (guards === null) return text;
  if (guards.action === "log_only") {
    const examined = async (span: OpenSpan): Promise<void> => void (await guarded(call, request, guards, text, span));
    void lookBeside(call, request, "boon:guardrails_input", examined);
    return text;
  }
  return await withSpan(
    call,
    "boon:guardrails_input",
    async (span) => await guarded(call, request, guards, text, span),
  );
}

async function guarded(call: Call, request: Prepared, guards: Guards, text: string, span: OpenSpan): Promise<string> {
  const { scan, action } = guards;
  const texts = [{ text, user: false }];
  const passed = function* (): Steps<string> {
    return action === "redact" ? ((yield* scan.redacting(texts, scanRoom())).texts[0] ?? text) : text;
  };
  const { blocked, unjudged } = await runScan(call, request, {
    side: "input",
    guards,
    span,
    find: function* (room) {
      return { matches: yield* scan.scanning(texts, room) };
    },
    harmText: passed,
  });
  return blocked || unjudged ? BLOCKED_RESULT : await inTurns(call, passed());
}
