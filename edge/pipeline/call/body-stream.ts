/**
 * A request body as a pulled stream: no bytes are made before the connection takes them, and its length is declared in
 * advance, so that the upstream gets a content-length.
 */

/** Most bytes that are handed over at once. */
const PIECE_MAX_BYTES = 256 * 1024;

/** A stream of `size` bytes; null when the size is not known in advance. `pull` works like the one of an underlying source. */
export function pulledStream(
  size: number | null,
  source: Pick<UnderlyingSource<Uint8Array>, "start" | "pull" | "cancel">,
): ReadableStream<Uint8Array> {
  // `expectedLength` is a field of workerd: the fetch that takes the stream sends it as the content-length.
  const length = size === null ? {} : { expectedLength: size };
  return new ReadableStream<Uint8Array>({ ...source, ...length }, { highWaterMark: 0 });
}

/** A stream of the pieces in order, in small parts; together they are `size` bytes. The pieces are only read, never changed. */
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
