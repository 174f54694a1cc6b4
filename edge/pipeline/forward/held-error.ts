/**
 * An error that is kept while another model is tried: as much of its body as fits is read, so that its connection is free
 * (docs/rules/models.md#fallback-models).
 */
import { clientStatus } from "../../domain/usage/billing.ts";
import { concat } from "../../domain/wire/bytes/byte-pieces.ts";
import type { MemoryReservation } from "../call/memory/memory-budget.ts";
import type { UpstreamAnswer } from "./attempt.ts";
import { LOOK_MAX_BYTES } from "./look-at-answer.ts";

/** The answer with the part that memory allows, of at most 64 KiB; one that breaks off does so again. Never rejects. */
export async function heldError(answer: UpstreamAnswer, memory: MemoryReservation): Promise<UpstreamAnswer> {
  const { response, head, cancellation } = answer;
  const reader = response.body?.getReader();
  if (reader === undefined) return answer;
  const pieces: Uint8Array[] = [head];
  let body: ReadableStream<Uint8Array> | string = "";
  try {
    for (let left = LOOK_MAX_BYTES - head.byteLength; left > 0; ) {
      cancellation.idle.begin();
      const { done, value } = await reader.read().finally(() => cancellation.idle.done());
      if (done || !memory.grow(value.byteLength)) break;
      pieces.push(value.subarray(0, left));
      left -= value.byteLength;
    }
    cancellation.suspend();
  } catch (error) {
    body = new ReadableStream({ type: "bytes", pull: (controller) => controller.error(error) });
  }
  reader.cancel().catch(() => undefined);
  const { status, headers } = response;
  return { ...answer, head: concat(pieces), response: new Response(body, { status: clientStatus(status), headers }) };
}
