/**
 * Reads the reply to one JSON-RPC request: a JSON body, or an event stream in which other messages may precede it. At
 * most 4 MiB are read of either, and only as long as there is memory for them.
 */
import { LIMITS } from "../../../../shared/catalogues/limits.ts";
import { EventReader } from "../../../../shared/wire/event-reader.ts";
import type { MemoryReservation } from "../../call/memory/memory-budget.ts";
import { isEventStream } from "../../reply/response-headers.ts";
import { ToolServerFailure } from "./tool-server-failure.ts";

/** Largest reply, with everything before it. */
const REPLY_MAX_BYTES = LIMITS.toolReply;

/**
 * The first message that `find` accepts; null: the answer ended without one. The body is cancelled when no more of it is
 * needed. Throws ToolServerFailure for an answer that is too large or breaks off.
 */
export async function readReply<T>(
  { headers, body }: Response,
  find: (message: string) => Promise<T | null>,
  memory: MemoryReservation,
): Promise<T | null> {
  if (body === null) return null;
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const events = isEventStream(headers.get("content-type")) ? new EventReader(REPLY_MAX_BYTES) : null;
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await read(reader);
      for (const message of done ? (events?.finish() ?? []) : (events?.push(value) ?? [])) {
        const found = await find(message);
        if (found !== null) return found;
      }
      if (done) return events === null ? await find(pieces.join("") + decoder.decode()) : null;
      bytes += value.byteLength;
      if (bytes > REPLY_MAX_BYTES || !memory.grow(value.byteLength)) throw new ToolServerFailure("answer too large");
      if (events === null) pieces.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<ReadableStreamReadResult<Uint8Array>> {
  try {
    return await reader.read();
  } catch (error) {
    throw error instanceof ToolServerFailure ? error : new ToolServerFailure("answer broke off", { cause: error });
  }
}
