/**
 * An answer that comes piece by piece outlives the check at its beginning. It is broken off soon after the person may not have
 * it any more: the session was ended, or the account or its role has changed (docs/rules/console.md#relay).
 */
import { DashboardError } from "./dashboard-error.ts";

const CHECK_EVERY_MS = 5000;

/** A server that reads the answer takes this for an end of its connection, and tells nobody the text. */
const CUT = { code: "ERR_STREAM_PREMATURE_CLOSE" };

/**
 * The answer, which ends with the permission. `judge` throws DashboardError when the person may not have it any more; another
 * failure says nothing.
 */
export function whileAllowed(answer: Response, judge: () => Promise<unknown>): Response {
  if (answer.body === null) return answer;
  const refused = new AbortController();
  const timer = setInterval(() => {
    void judge().catch((error: unknown) => {
      if (error instanceof DashboardError)
        refused.abort(Object.assign(new Error("the answer is not allowed any more"), CUT));
    });
  }, CHECK_EVERY_MS);
  timer.unref();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const over = answer.body.pipeTo(writable, { signal: refused.signal });
  void over.catch(() => undefined).finally(() => clearInterval(timer));
  return new Response(readable, answer);
}
