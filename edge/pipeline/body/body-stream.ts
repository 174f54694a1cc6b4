/**
 * A request body as a stream that is pulled: nothing is made before the connection takes it, and its length is declared
 * ahead, so that the upstream is told a content-length.
 */

/** Most bytes that are handed over at once. */
const PIECE_MAX_BYTES = 256 * 1024;

/** A stream of `size` bytes; null when the size is not known ahead. `pull` as of an underlying source. */
export function pulledStream(
  size: number | null,
  source: Pick<UnderlyingSource<Uint8Array>, "pull" | "cancel">,
): ReadableStream<Uint8Array> {
  // `expectedLength` is workerd's: the fetch that takes the stream sends it as the content-length.
  const length = size === null ? {} : { expectedLength: size };
  return new ReadableStream<Uint8Array>({ ...source, ...length }, { highWaterMark: 0 });
}

/** The pieces in order, cut small; together they are `size` bytes. The pieces are read, never taken. */
export function streamOf(pieces: readonly Uint8Array[], size: number): ReadableStream<Uint8Array> {
  let piece = 0;
  let at = 0;
  return pulledStream(size, {
    pull: (controller) => {
      while (at === pieces[piece]?.byteLength) {
        piece += 1;
        at = 0;
      }
      const current = pieces[piece];
      if (current === undefined) return controller.close();
      controller.enqueue(current.subarray(at, at + PIECE_MAX_BYTES));
      at = Math.min(at + PIECE_MAX_BYTES, current.byteLength);
    },
  });
}
