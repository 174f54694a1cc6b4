/**
 * The routes between the planes (shared/wire/internal.ts, shared/wire/internal-budgets.ts). Without the token the answer is 404
 * `unknown endpoint`, as if they did not exist.
 */
import { GatewayError } from "../../shared/errors.ts";
import { setCapacitySchema } from "../../shared/schema/load.ts";
import { sleep } from "../../shared/time/sleep.ts";
import { alertPullSchema, CELL_HEADER, INTERNAL_PATHS, invalidateBodySchema } from "../../shared/wire/internal.ts";
import { budgetSubjectSchema, rebuildBodySchema } from "../../shared/wire/internal-budgets.ts";
import type { Deps } from "../deps.ts";
import { liveView } from "../domain/fairshare/snapshot-view.ts";

/** Log lines that are gathered are written within this time after the last request, too. */
const SETTLED_EVERY_MS = 100;

/** Answers an internal route. */
export async function internal(deps: Deps, request: Request): Promise<Response> {
  return await asInternal(deps, request, async () => {
    const cell = deps.ofCell(request.headers.get(CELL_HEADER) ?? deps.env.cell);
    if (cell === null) throw new GatewayError("unknown_endpoint");
    return await route(cell, request);
  });
}

/** What `work` answers to a request with the token between the planes, or the answer to its error. */
export async function asInternal(deps: Deps, request: Request, work: () => Promise<Response>): Promise<Response> {
  try {
    if (!(await authorized(request, await deps.internalTokens()))) {
      await deps.authFailures.refuse(request);
      throw new GatewayError("unknown_endpoint");
    }
    return await work();
  } catch (error) {
    const known = error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
    return Response.json(known.body, { status: known.status, headers: known.headers });
  }
}

async function route(deps: Deps, request: Request): Promise<Response> {
  switch (`${request.method} ${new URL(request.url).pathname}`) {
    case `POST ${INTERNAL_PATHS.invalidate}`: {
      const body = invalidateBodySchema.safeParse(await request.json().catch(() => null));
      if (!body.success) throw new GatewayError("validation_failed", { param: "items" });
      await deps.cell.withCell(async (cell) => await cell.invalidate(body.data.items));
      return new Response(null, { status: 204 });
    }
    case `GET ${INTERNAL_PATHS.stats}`:
      return Response.json(await deps.cell.withCell(async (cell) => await cell.stats()));
    case `GET ${INTERNAL_PATHS.metrics}`:
      return Response.json(await deps.cell.withCell(async (cell) => await cell.metrics()));
    case `PUT ${INTERNAL_PATHS.capacity}`: {
      const body = setCapacitySchema.safeParse(await request.json().catch(() => null));
      if (!body.success) throw new GatewayError("validation_failed", { param: "max_in_flight" });
      return Response.json(await deps.cell.withCell(async (cell) => await cell.setCapacity(body.data.max_in_flight)));
    }
    case `GET ${INTERNAL_PATHS.live}`: {
      const snapshot = await deps.cell.withCell(async (cell) => await cell.fairshareLive());
      return Response.json(liveView(snapshot, deps.cell.cell, deps.ports.clock()));
    }
    case `GET ${INTERNAL_PATHS.history}`: {
      const sinceMs = Number(new URL(request.url).searchParams.get("since_ms") ?? 0);
      const samples = await deps.cell.withCell(
        async (cell) => await cell.fairshareHistory(Number.isFinite(sinceMs) ? sinceMs : 0),
      );
      return Response.json(samples);
    }
    case `POST ${INTERNAL_PATHS.alerts}`: {
      const body = alertPullSchema.safeParse(await request.json().catch(() => null));
      if (!body.success) throw new GatewayError("validation_failed", { param: "ack" });
      return Response.json(await deps.alertLedger().alerts(body.data.ack));
    }
    case `POST ${INTERNAL_PATHS.stop}`:
      return await stop(deps, request);
    case `POST ${INTERNAL_PATHS.budgetUsage}`:
      return await answerBudgetUsage(deps, request);
    case `POST ${INTERNAL_PATHS.budgetRebuild}`:
      return await answerBudgetRebuild(deps, request);
    default:
      throw new GatewayError("unknown_endpoint");
  }
}

/** Holds the process open until its requests are settled; those that run at the end of the body are interrupted. */
async function stop({ memory, underWay, cell }: Deps, request: Request): Promise<Response> {
  await request.text();
  memory.interruption.interrupt(new GatewayError("gateway_stopping", { headers: { "retry-after": "1" } }));
  // The runtime ends a request that only waits for other requests.
  do await sleep(SETTLED_EVERY_MS);
  while (!underWay.none);
  await cell
    .withCell(async (stub) => await stub.reportBudgets())
    .catch(() => {
      // the ledger is asked for what was not reported
    });
  return new Response(null, { status: 204 });
}

/** The use of a tenant or key. */
async function answerBudgetUsage(deps: Deps, request: Request): Promise<Response> {
  const body = budgetSubjectSchema.safeParse(await request.json().catch(() => null));
  if (!body.success) throw new GatewayError("validation_failed", { param: "tenant" });
  return Response.json(await deps.budgets.usage(body.data));
}

/** Compares counters with the ledger. */
async function answerBudgetRebuild(deps: Deps, request: Request): Promise<Response> {
  const body = rebuildBodySchema.safeParse(await request.json().catch(() => null));
  if (!body.success) throw new GatewayError("validation_failed", { param: "subjects" });
  return Response.json({ rebuilt: await deps.budgets.rebuild(body.data.subjects) });
}

/** Compares digests, so that the time taken reveals nothing about the token. */
async function authorized(request: Request, tokens: readonly string[]): Promise<boolean> {
  const digest = async (text: string) => await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const given = await digest(request.headers.get("authorization") ?? "");
  const expected = await Promise.all(tokens.map(async (token) => await digest(`Bearer ${token}`)));
  return expected.filter((each) => crypto.subtle.timingSafeEqual(given, each)).length > 0;
}
