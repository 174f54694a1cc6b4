/**
 * A body that goes to the client as it comes, until it ends, its client leaves or takes nothing for too long
 * (docs/rules/streams.md#stalled-readers), or the gateway stops.
 */
import { pulledStream } from "../call/body-stream.ts";
import { ClientGone } from "../call/client-gone.ts";
import { type Call, OnceLatch } from "../call/context.ts";
import { StallWatch } from "../call/stall-watch.ts";

/** `size`: its length, null: not known. `onEnd` is called once. */
export function watchedBody(
  call: Call,
  body: ReadableStream<Uint8Array>,
  { size, onEnd }: { readonly size: number | null; readonly onEnd: () => void },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const client = call.request.signal;
  const over = new OnceLatch();
  let answer: ReadableStreamDefaultController | null = null;
  let callOff = (): void => undefined;
  const end = (): void => {
    if (!over.take()) return;
    watch.end();
    callOff();
    client.removeEventListener("abort", leave);
    onEnd();
  };
  const cut = (reason: Error): void => {
    end();
    answer?.error(reason);
    reader.cancel(reason).catch(() => undefined);
  };
  const leave = (): void => cut(new ClientGone());
  const watch = new StallWatch(call.timer, call.ports.clock, call.config.stalledReaderMs, leave);
  const stream = pulledStream(size, {
    start: (controller) => {
      answer = controller;
    },
    pull: async (controller) => {
      watch.done();
      try {
        const { done, value } = await reader.read();
        if (done) {
          end();
          controller.close();
          return;
        }
        watch.begin();
        controller.enqueue(value);
      } catch (error) {
        end();
        throw error;
      }
    },
    cancel: async (reason) => {
      end();
      await reader.cancel(reason);
    },
  });
  watch.begin();
  client.addEventListener("abort", leave, { once: true });
  if (client.aborted) leave();
  else callOff = call.interruption.listen(() => cut(call.interruption.failure ?? new ClientGone()));
  return stream;
}
