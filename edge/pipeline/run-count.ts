/**
 * `POST /v1/messages/count_tokens`: how many input tokens a message would have (docs/rules/routes.md#counting-tokens). It
 * passes the gates of the tenant and the model, and needs no slot and no budget. Only an upstream with this API is called; for
 * every other one the gateway's own estimate is the answer.
 */
import { estimateTokens } from "../domain/request/token-estimate.ts";
import { authenticate } from "./authenticate/authenticate.ts";
import { beforeAdmission } from "./authenticate/authenticate-now.ts";
import type { Call } from "./call/context.ts";
import { guardsOf } from "./call/guards.ts";
import { inTurns } from "./call/in-turns.ts";
import { type CallAnswer, type Resolved, withKnown } from "./call/known.ts";
import { reportEnd } from "./call/report/report-end.ts";
import { usageRowOf } from "./call/report/usage-row.ts";
import { answer } from "./receive/answer-call.ts";
import type { PipelineInput } from "./receive/start-call.ts";
import { readLevel } from "./reply/rate-limit.ts";
import { gatewayHeaders } from "./reply/response-headers.ts";
import { parseCall } from "./resolve-model/parse-call.ts";
import { checkModelHead, resolveModel } from "./resolve-model/resolve-model.ts";
import { forwardProbe, PROBE, resolveCurrent } from "./run-models.ts";
import { checkNamedObjects } from "./stored/upstream-objects.ts";

/** Never throws. */
export async function countTokens(received: PipelineInput): Promise<Response> {
  const { response } = await answer(received, async (call, known) => {
    const caller = await authenticate(call, known);
    const asked = await beforeAdmission(call, caller, async () => {
      checkModelHead(call);
      return await parseCall(call, caller);
    });
    const request = await resolveCurrent(call, asked, resolveModel);
    // Requests that a policy would refuse or change go to no upstream.
    if (request.model.api_dialect !== "anthropic" || guardsOf(request.principal.tenant, "input") !== null)
      return await estimated(call, request);
    const objects = await withKnown(request, checkNamedObjects(call, request));
    return await forwardProbe(call, { ...request, objects }, PROBE);
  });
  return response;
}

async function estimated(call: Call, request: Resolved): Promise<CallAnswer> {
  const { inputTokens } = await inTurns(call, estimateTokens("any", request.parsed.document));
  const known = { ...request, level: await readLevel(call, request) };
  const row = usageRowOf(call, known, { statusCode: 200, admission: "fast" });
  reportEnd(call, known, row);
  call.waitUntil(call.ports.admission.record(row));
  return { response: Response.json({ input_tokens: inputTokens }, { headers: gatewayHeaders(call, known) }), known };
}
