/**
 * Examines the start of a 2xx answer before any part of it goes to the client, while another attempt can still be made: its
 * first byte must come, and an error in it gives the answer the status that the error names
 * (docs/rules/upstream-calls.md#errors-in-a-2xx). Small answers that declare their size are read at once when the whole body is
 * there, so that they can be sent in one piece; of every other answer, only the necessary part is read.
 */

import { type AnswerFailure, classifyDocument, classifyEvents } from "../../domain/upstream/answer-failure.ts";
import { concat } from "../../domain/wire/bytes/byte-pieces.ts";
import type { MemoryBudget } from "../call/memory/memory-budget.ts";
import { releaseStack } from "../call/release-stack.ts";
import type { StallWatch } from "../call/stall-watch.ts";
import { isEventStream } from "../reply/response-headers.ts";

/** Most bytes of an answer that are held back. */
export const LOOK_MAX_BYTES = 64 * 1024;
const LOOK_BYTES = 4 * 1024;

/** An answer whose body has been read in part. */
export interface BegunAnswer {
  readonly response: Response;
  /** The read part of the body. */
  readonly head: Uint8Array<ArrayBuffer>;
}

/** Ends an answer with a read that takes too long. */
type ReadWatch = Pick<StallWatch, "begin" | "done">;

const NOTHING = new Uint8Array(0);

/** The answer; none of it has been read. */
export const unread = (response: Response): BegunAnswer => ({ response, head: NOTHING });

/** The size of an answer that may be read at once, by its headers, in bytes; null for every other answer. */
export function smallAnswerBytes(headers: Headers): number | null {
  if (isEventStream(headers.get("content-type")) || headers.has("content-encoding")) return null;
  const declared = Number(headers.get("content-length") ?? Number.NaN);
  return declared > 0 && declared <= LOOK_MAX_BYTES ? declared : null;
}

/**
 * Rejects when the body ends before its first byte. One that breaks off later does so again for its next reader. `isStream`: another
 * limit holds until that byte.
 */
export async function lookAtAnswer(
  response: Response,
  answerMemory: MemoryBudget,
  idle: ReadWatch | null = null,
  isStream = false,
): Promise<BegunAnswer> {
  const { body, headers } = response;
  if (body === null) return unread(response);
  const reservation = answerMemory.open();
  const size = smallAnswerBytes(headers);
  const smallBytes = size !== null && reservation.grow(size) ? size : null;
  const classify = classifyBy(headers.get("content-type"));
  const reader = body.getReader({ mode: "byob" });
  let head = NOTHING;
  try {
    for (;;) {
      const isFirst = isStream && head.byteLength === 0;
      const { done, value } = await watched(reader, smallBytes ?? LOOK_BYTES, isFirst ? null : idle);
      if (done && head.byteLength === 0 && classify !== null) throw new Error("the answer ended before its first byte");
      if (!done) head = head.byteLength === 0 ? value : concat([head, value]);
      const verdict = classify?.(new TextDecoder().decode(head), done || head.byteLength === smallBytes) ?? "passes";
      if (typeof verdict === "object") {
        reader.cancel().catch(() => undefined);
        return failed(headers, verdict);
      }
      if (done || verdict === "passes" || head.byteLength >= LOOK_MAX_BYTES) return { response, head };
    }
  } catch (error) {
    releaseStack(error);
    if (head.byteLength === 0) throw error;
    return { response, head };
  } finally {
    reader.releaseLock();
    reservation.close();
  }
}

/** An answer that is not a 2xx with this many bytes of its body, if it has as many. Rejects when it breaks off before. */
export async function beginningOf(
  response: Response,
  bytes: number,
  answerMemory: MemoryBudget,
  idle: ReadWatch,
): Promise<BegunAnswer> {
  const reader = response.body?.getReader({ mode: "byob" });
  const reservation = answerMemory.open();
  let head = NOTHING;
  try {
    while (reader !== undefined && head.byteLength < bytes && reservation.grow(LOOK_BYTES)) {
      const { done, value } = await watched(reader, LOOK_BYTES, idle);
      if (done) break;
      head = concat([head, value]);
    }
    return { response, head };
  } finally {
    reader?.releaseLock();
    reservation.close();
  }
}

async function watched(
  reader: ReadableStreamBYOBReader,
  bytes: number,
  idle: ReadWatch | null,
): Promise<ReadableStreamReadResult<Uint8Array<ArrayBuffer>>> {
  idle?.begin();
  try {
    return await reader.read(new Uint8Array(bytes));
  } finally {
    idle?.done();
  }
}

/** Classifies the received part of an answer of this type; null: it can be anything, also nothing. */
function classifyBy(contentType: string | null): typeof classifyEvents | null {
  if (isEventStream(contentType)) return classifyEvents;
  return contentType?.toLowerCase().includes("json") === true ? classifyDocument : null;
}

/** The answer as if the upstream had used the status that its error names. */
function failed(headers: Headers, { status, text }: AnswerFailure): BegunAnswer {
  const own = new Headers(headers);
  own.set("content-type", "application/json");
  for (const name of ["content-length", "content-encoding", "transfer-encoding"]) own.delete(name);
  return { response: new Response("", { status, headers: own }), head: new Uint8Array(new TextEncoder().encode(text)) };
}
