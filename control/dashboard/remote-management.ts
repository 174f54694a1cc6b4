/** The Management API of a gateway in another process, for a console that runs alone (docs/rules/console.md#alone). */
import { rootCause } from "../../shared/text/root-cause.ts";
import type { Logger } from "../kernel/log.ts";
import { DashboardError } from "./dashboard-error.ts";

/** How long what is done for somebody who has left may continue: longer than any read of usage. */
const LEFT_MS = 35_000;

/**
 * Passes requests to the Management API at `baseUrl`. Throws DashboardError 503 when it does not answer, or answers as only
 * something else does: it refuses the console's own token, or sends it on to another address. A reader that leaves does not end what
 * the Management API does: the answer is waited for, at most `leftMs`.
 */
export function remoteManagement(
  baseUrl: string,
  log: Logger,
  leftMs: number = LEFT_MS,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const answer = await answerOf(`${baseUrl}${pathname}${search}`, request, { log, leftMs });
    if (answer.status !== 401 && (answer.status < 300 || answer.status >= 400)) return answer;
    await answer.body?.cancel();
    const reason = answer.status === 401 ? "it refuses the console's token" : `it answers ${answer.status}`;
    log.error({ event: "management_refused", status: answer.status, reason });
    throw new DashboardError("management_unavailable");
  };
}

interface Waiting {
  readonly log: Logger;
  readonly leftMs: number;
}

async function answerOf(url: string, request: Request, { log, leftMs }: Waiting): Promise<Response> {
  const ended = new AbortController();
  const { signal } = request;
  let isAnswered = false;
  let timer: NodeJS.Timeout | undefined;
  signal.throwIfAborted();
  const onLeft = (): void => {
    if (isAnswered) ended.abort();
    else timer = setTimeout(() => ended.abort(), leftMs);
  };
  signal.addEventListener("abort", onLeft, { once: true });
  try {
    const { method, headers, body } = request;
    // The token must not follow a redirection to wherever it leads.
    const init = { method, headers, body, duplex: "half", redirect: "manual", signal: ended.signal } as RequestInit;
    const answer = await fetch(url, init);
    isAnswered = true;
    if (signal.aborted) ended.abort();
    return answer;
  } catch (error) {
    if (signal.aborted) throw error;
    log.warn({ event: "management_unreachable", reason: rootCause(error) });
    throw new DashboardError("management_unavailable");
  } finally {
    clearTimeout(timer);
  }
}
