/**
 * Lines of batches, which the control service sends with the token between the planes (docs/rules/batches.md#lines): each is a
 * call of the key that it names, under its own request id. `GET` returns the state of a line.
 */

import { BATCH_ENDPOINTS } from "../../shared/catalogues/batch-endpoints.ts";
import { GatewayError } from "../../shared/errors.ts";
import { LINE_HEADERS, type LineOutcome } from "../../shared/wire/batch-lines.ts";
import { CELL_HEADER } from "../../shared/wire/internal.ts";
import type { Deps } from "../deps.ts";
import { TAGS_HEADER } from "../domain/request/attribution.ts";
import { gatherAnswer } from "../pipeline/batch-line/gather-answer.ts";
import { lineRoute } from "./data-plane.ts";
import { asInternal } from "./internal.ts";

/** Its request still waits or runs. */
const IS_LIVE = 202;
/** Its request is over, and nothing is known of an answer. */
const IS_GONE = 204;
const REQUEST_ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** Answers `/internal/lines`. */
export async function batchLine(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await asInternal(deps, request, async () => {
    const { headers } = request;
    const cell = deps.ofCell(headers.get(CELL_HEADER) ?? deps.env.cell);
    const requestId = headers.get(LINE_HEADERS.requestId) ?? "";
    if (cell === null || !REQUEST_ID.test(requestId)) throw new GatewayError("unknown_endpoint");
    if (request.method === "GET") return await whatBecame(cell, requestId);
    if (request.method !== "POST") throw new GatewayError("unknown_endpoint");
    const work = run(cell, request, context, requestId);
    // It continues after the caller has gone: its answer is kept.
    context.waitUntil(deps.underWay.during(work.catch(() => undefined)));
    return await work;
  });
}

/** A line's answer is kept before it ends at its Cell: an answer that is missing afterwards does not exist. */
async function whatBecame({ cell, ports }: Deps, requestId: string): Promise<Response> {
  if (await cell.withCell(async (stub) => await stub.isEntered(requestId)))
    return new Response(null, { status: IS_LIVE });
  const kept = await ports.lineAnswers.load(requestId);
  return kept === null ? new Response(null, { status: IS_GONE }) : answerOf(kept);
}

async function run(deps: Deps, request: Request, context: ExecutionContext, requestId: string): Promise<Response> {
  const path = request.headers.get(LINE_HEADERS.path) ?? "";
  const keyHash = request.headers.get(LINE_HEADERS.key) ?? "";
  const batch = request.headers.get(LINE_HEADERS.batch);
  const untilMs = Number(request.headers.get(LINE_HEADERS.until));
  if (!BATCH_ENDPOINTS.some((endpoint) => endpoint === path)) throw new GatewayError("unknown_endpoint");
  const called = new Request(new URL(path, request.url), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      // a control service of before does not name it
      ...(batch === null ? {} : { [TAGS_HEADER]: `batch=${batch}` }),
    },
    body: await request.arrayBuffer(),
    signal: AbortSignal.timeout(Math.max(0, untilMs - deps.ports.clock())),
  });
  const { response, known } = await lineRoute(deps, called, context, { requestId, keyHash });
  const retryAfter = response.headers.get("retry-after");
  const tenant = known.principal?.tenant.id ?? "";
  const memory = deps.memory.lineAnswerMemory.open(tenant, null, { request, interruption: deps.memory.interruption });
  const text = response.body === null ? "" : await gatherAnswer(response.body, memory);
  const { calledMs } = known.upstream;
  const outcome: LineOutcome | null = text === null ? "too-large" : calledMs === null ? "refused" : null;
  return answerOf(
    { status: response.status, text: text ?? "" },
    {
      ...(outcome === null ? {} : { [LINE_HEADERS.outcome]: outcome }),
      ...(retryAfter === null ? {} : { "retry-after": retryAfter }),
      ...(calledMs === null ? {} : { [LINE_HEADERS.waitedMs]: String(known.queueWaitMs) }),
    },
  );
}

function answerOf(
  { status, text }: { readonly status: number; readonly text: BodyInit },
  more: Readonly<Record<string, string>> = {},
): Response {
  return new Response(text, {
    headers: { "content-type": "application/json", [LINE_HEADERS.status]: String(status), ...more },
  });
}
