/**
 * Answers to a client that is still sending a body which nobody reads. The answer leaves at once; its stream stays open
 * while the rest is read away, for a while: closed on unread bytes, the connection would be reset before the client could
 * read what it was told.
 */
import { pulledStream } from "../body/body-stream.ts";
import type { Call, OutgoingBody } from "../call/context.ts";

/** What the runtime reads away of itself. */
const UNREAD_MAX_BYTES = 32 * 1024;
const LINGER_MS = 5_000;

/** The answer to a call that ends before all of its body was read. */
export function answerBeforeBodyRead(call: Call, body: object, init: ResponseInit): Response {
  const discard = discardOf(call);
  if (discard === null) return Response.json(body, init);
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  let sent = false;
  const stream = pulledStream(bytes.byteLength, {
    pull: async (controller) => {
      if (!sent) {
        sent = true;
        return controller.enqueue(bytes);
      }
      await forAWhile(call, discard());
      controller.close();
    },
  });
  const headers = new Headers(init.headers);
  headers.set("content-type", "application/json");
  return new Response(stream, { ...init, headers });
}

/** The answer of an upstream that did not wait for the whole of a body. */
export function keepOpenUntilBodyRead(call: Call, response: Response, outgoing: OutgoingBody): Response {
  // first what is plain data: asked for its body, a response makes a stream of it
  if (outgoing.readRest === null || response.body === null) return response;
  const reader = response.body.getReader();
  const stream = pulledStream(null, {
    pull: async (controller) => {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      await forAWhile(call, outgoing.readRest?.() ?? Promise.resolve());
      controller.close();
    },
    cancel: async (reason) => await reader.cancel(reason),
  });
  return new Response(stream, response);
}

/** Reads away what is left of the client's body; null: nothing is, or so little that the runtime does it. */
function discardOf({ request, facts }: Call): (() => Promise<void>) | null {
  const { unread } = facts;
  if (unread !== null) return unread.ended ? null : async () => await unread.discard();
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  const { body } = request;
  if (body === null || request.bodyUsed || declared <= UNREAD_MAX_BYTES) return null;
  return async () => await readAway(body);
}

async function forAWhile(call: Call, work: Promise<void>): Promise<void> {
  await Promise.race([work, call.ports.sleep(LINGER_MS, call.request.signal)]);
}

/** Never rejects. */
async function readAway(body: ReadableStream<Uint8Array>): Promise<void> {
  try {
    const reader = body.getReader();
    while (!(await reader.read()).done);
  } catch {
    // The client has gone, with its answer or without.
  }
}
