/**
 * Gathers answers to lines of batches for the control service, which needs their ends before their heads. A large one takes memory
 * while it arrives; what finds none stays upstream until others were sent (docs/rules/batches.md#windows).
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { ClientGone } from "../call/client-gone.ts";
import { type BodyReservation, UNRESERVED_MAX_BYTES } from "../call/memory/request-body-memory.ts";
import { anyReader } from "../relay/body-reader.ts";

/**
 * The whole answer; its memory is freed when it was read or cancelled. Null: it is too large, and was read to its end only to
 * be billed for its use. Throws ClientGone, and then too only after the answer has ended.
 */
export async function gatherAnswer(
  body: ReadableStream<Uint8Array>,
  memory: BodyReservation,
): Promise<ReadableStream<Uint8Array> | null> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let countedBytes = 0;
  let isWanted = true;
  const reader = anyReader(body);
  try {
    for (let piece = await reader.next(); piece !== null; piece = await reader.next()) {
      bytes += piece.byteLength;
      if (isWanted && bytes > UNRESERVED_MAX_BYTES && bytes <= LIMITS.batchAnswerBytes) {
        isWanted = await memory.reserve(bytes - countedBytes);
        countedBytes = bytes;
      }
      if (isWanted && bytes <= LIMITS.batchAnswerBytes) {
        // The next read uses the same buffer.
        pieces.push(piece.slice());
        continue;
      }
      pieces.length = 0;
      memory.release();
    }
  } catch (error) {
    memory.release();
    await reader.cancel();
    throw error;
  }
  if (!isWanted) throw new ClientGone("nobody took the answer of a line");
  if (bytes > LIMITS.batchAnswerBytes) return null;
  memory.complete();
  const left = pieces.values();
  return new ReadableStream({
    pull: (controller) => {
      const { done, value } = left.next();
      if (done !== true) return controller.enqueue(value);
      memory.release();
      controller.close();
    },
    cancel: () => memory.release(),
  });
}
