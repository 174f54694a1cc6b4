/**
 * An answer that comes piece by piece outlives the check at its beginning. It is broken off soon after the person may not have
 * it any more: the session was ended, or the account or its role has changed (docs/rules/console.md#relay).
 */
import { DashboardError } from "./dashboard-error.ts";

const CHECK_EVERY_MS = 5000;

/** A server that reads the answer takes this for an end of its connection, and tells nobody the text. */
const CUT = { code: "ERR_STREAM_PREMATURE_CLOSE" };

interface WhileAllowed {
  /** Throws DashboardError when the person may not have it any more; another failure says nothing. */
  readonly judge: () => Promise<unknown>;
  readonly answer: (request: Request) => Promise<Response>;
}

/** The answer to a request, which ends with the permission. */
export async function whileAllowed(request: Request, { judge, answer }: WhileAllowed): Promise<Response> {
  const refused = new AbortController();
  const timer = setInterval(() => {
    void judge().catch((error: unknown) => {
      if (error instanceof DashboardError)
        refused.abort(Object.assign(new Error("the answer is not allowed any more"), CUT));
    });
  }, CHECK_EVERY_MS);
  timer.unref();
  const stop = (): void => clearInterval(timer);
  const signal = AbortSignal.any([request.signal, refused.signal]);
  signal.addEventListener("abort", stop, { once: true });
  try {
    const answered = await answer(new Request(request, { signal }));
    if (answered.body === null) {
      stop();
      return answered;
    }
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({ flush: stop });
    void answered.body.pipeTo(writable, { signal }).catch(stop);
    return new Response(readable, answered);
  } catch (error) {
    stop();
    throw error;
  }
}
