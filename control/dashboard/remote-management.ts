/** The Management API of a gateway in another process, for a console that runs alone (docs/rules/console.md#alone). */
import { rootCause } from "../../shared/text/root-cause.ts";
import type { Logger } from "../kernel/log.ts";
import { DashboardError } from "./dashboard-error.ts";

/**
 * Passes requests to the Management API at `baseUrl`. Throws DashboardError 503 when it does not answer, or answers as only
 * something else does: it refuses the console's own token, or sends it on to another address.
 */
export function remoteManagement(baseUrl: string, log: Logger): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const answer = await answerOf(new Request(`${baseUrl}${pathname}${search}`, request), log);
    if (answer.status !== 401 && (answer.status < 300 || answer.status >= 400)) return answer;
    await answer.body?.cancel();
    const reason = answer.status === 401 ? "it refuses the console's token" : `it answers ${answer.status}`;
    log.error({ event: "management_refused", status: answer.status, reason });
    throw new DashboardError("management_unavailable");
  };
}

async function answerOf(request: Request, log: Logger): Promise<Response> {
  try {
    // The token must not follow a redirection to wherever it leads.
    return await fetch(request, { redirect: "manual" });
  } catch (error) {
    if (request.signal.aborted) throw error;
    log.warn({ event: "management_unreachable", reason: rootCause(error) });
    throw new DashboardError("management_unavailable");
  }
}
