/**
 * Examination by a policy that only logs (`log_only`): in parallel with the request, after the work that the client waits for,
 * so that it delays nothing (docs/rules/guardrails.md#actions).
 */
import { OpenSpan } from "../../domain/trace/trace.ts";
import type { Call } from "../call/context.ts";
import type { Prepared } from "../call/known.ts";
import { sendLateSpan } from "../call/report/spans.ts";

/**
 * Examines something as soon as the work that waits now has run. `look` gets the call in its current state for work that
 * continues without its client. Its span is written separately, because the request's span may be written by then. A failure is
 * shown by the span alone.
 */
export function lookBeside(
  call: Call,
  request: Prepared,
  name: "boon:guardrails_input" | "boon:guardrails_output",
  look: (span: OpenSpan, beside: Call) => Promise<void>,
): Promise<void> {
  const { clock, sleep } = call.ports;
  const looking = async (): Promise<void> => {
    await sleep(0, call.request.signal);
    const span = new OpenSpan(name, clock());
    await look(span, { ...call, isBeside: true }).catch(() => span.fail());
    span.end(clock());
    sendLateSpan(call, request, span);
  };
  const looked = looking().catch(() => undefined);
  call.waitUntil(looked);
  return looked;
}
