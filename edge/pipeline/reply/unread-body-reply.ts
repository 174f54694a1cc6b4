/**
 * Answers to a client that is still sending an unneeded body. The answer leaves at once; its stream stays open for a while, in
 * which the rest of the body is read and discarded: if the connection were closed with unread bytes, it would be reset before
 * the client could read its answer.
 */
import { pulledStream } from "../call/body-stream.ts";
import type { OutgoingBody } from "../call/client-body.ts";
import type { Call } from "../call/context.ts";

const LINGER_MS = 5_000;

/** The answer to a call that ends before all of its body was read. */
export function answerBeforeBodyRead(call: Call, body: object, init: ResponseInit): Response {
  const discard = call.body.discardRest;
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

/** The answer of an upstream that answered before it got the whole body. */
export function keepOpenUntilBodyRead(call: Call, response: Response, outgoing: OutgoingBody): Response {
  // check the plain data first: reading `body` of a response makes a stream of it
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

async function forAWhile(call: Call, work: Promise<void>): Promise<void> {
  await Promise.race([work, call.ports.sleep(LINGER_MS, call.request.signal)]);
}
