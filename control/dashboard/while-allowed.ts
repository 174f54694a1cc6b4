/**
 * An answer that comes piece by piece outlives the check at its beginning. It is broken off soon after the person may not have
 * it any more: the session was ended, or the account or its role has changed (docs/rules/console.md#relay).
 */
import { DashboardError } from "./dashboard-error.ts";

const CHECK_EVERY_MS = 5000;

/** A server that reads the answer takes this for an end of its connection, and tells nobody the text. */
const CUT = { code: "ERR_STREAM_PREMATURE_CLOSE" };

/**
 * The answer, which ends with the permission. `check` throws DashboardError when the person may not have it any more; another
 * failure says nothing.
 */
export function whileAllowed(answer: Response, check: () => Promise<unknown>): Response {
  if (answer.body === null) return answer;
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const refused = Promise.withResolvers<Error>();
  const timer = setInterval(() => {
    void check().catch((error: unknown) => {
      if (error instanceof DashboardError)
        refused.resolve(Object.assign(new Error("the answer is not allowed any more"), CUT));
    });
  }, CHECK_EVERY_MS);
  timer.unref();
  const stop = (): void => clearInterval(timer);
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        void refused.promise.then((cut) => {
          stop();
          controller.error(cut);
          void reader.cancel(cut).catch(() => undefined);
        });
      },
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          stop();
          controller.close();
        } catch (error) {
          stop();
          controller.error(error);
        }
      },
      cancel: async (reason) => {
        stop();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, answer);
}
