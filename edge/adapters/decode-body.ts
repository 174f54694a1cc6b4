/**
 * Decodes bodies with the platform's own library, which is loaded with the first such body. It makes as much at a time
 * as is read of it, and lets other requests work in between: a few bytes may become many.
 */
import type { Decode } from "../ports.ts";

const CHUNK_BYTES = 64 * 1024;
/** After so many decoded bytes other requests get a turn. */
const TURN_BYTES = 256 * 1024;
/** The largest window, as a power of two, that a body of HTTP may need (RFC 9659). */
const ZSTD_WINDOW_LOG_MAX = 23;

export const decodeBody: Decode = async function* (coding, source) {
  const [zlib, { pipeline }] = await Promise.all([import("node:zlib"), import("node:stream")]);
  const options = { chunkSize: CHUNK_BYTES };
  const decoder = {
    gzip: () => zlib.createGunzip(options),
    deflate: () => zlib.createInflate(options),
    br: () => heldBack(zlib.createBrotliDecompress(options)),
    zstd: () =>
      zlib.createZstdDecompress({
        ...options,
        params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
      }),
  }[coding]();
  let turnBytes = 0;
  // a failure of either ends the reading below
  for await (const chunk of pipeline(source, decoder, () => undefined)) {
    yield new Uint8Array(chunk);
    turnBytes += chunk.byteLength;
    if (turnBytes < TURN_BYTES) continue;
    turnBytes = 0;
    const turn = Promise.withResolvers<void>();
    setTimeout(turn.resolve, 0);
    await turn.promise;
  }
};

/** The inner part of a decoder. */
interface Inner {
  readonly _handle: { write: (...call: readonly unknown[]) => void };
}

/**
 * The platform's decoder of brotli is called back within its call, and so makes all of its output, however little is
 * read. With a call that is made later, as it is with the other decoders, its reader holds it back.
 */
function heldBack<T extends { readonly destroyed: boolean }>(decoder: T): T {
  const { _handle: handle } = decoder as T & Inner;
  const write = handle.write.bind(handle);
  handle.write = (...call) =>
    queueMicrotask(() => {
      if (!decoder.destroyed) write(...call);
    });
  return decoder;
}
