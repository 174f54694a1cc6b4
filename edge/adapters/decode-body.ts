/**
 * Decodes bodies with the platform's own library, which is loaded with the first such body. It decodes only as much as is read,
 * and lets other requests run in between: a few bytes may become many.
 */
import type { Decode } from "../ports.ts";

const CHUNK_BYTES = 64 * 1024;
/** After so many decoded bytes other requests get a turn. */
const TURN_BYTES = 256 * 1024;
/** The largest window, as a power of two, that a body of HTTP may need (RFC 9659). */
const ZSTD_WINDOW_LOG_MAX = 23;

export const decodeBody: Decode = async function* (coding, source) {
  const [zlib, { pipeline }] = await Promise.all([import("node:zlib"), import("node:stream")]);
  // a chunk is only looked at when all that was before it is read
  const options = { chunkSize: CHUNK_BYTES, highWaterMark: 1 };
  const decoder = {
    gzip: () => zlib.createGunzip(options),
    deflate: () => zlib.createInflate(options),
    br: () => zlib.createBrotliDecompress(options),
    zstd: () =>
      zlib.createZstdDecompress({
        ...options,
        params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
      }),
  }[coding]();
  let decodedBytes = 0;
  let turnBytes = 0;
  try {
    // a failure of either ends the reading
    for await (const chunk of pipeline(source, heldBack(decoder), () => undefined)) {
      yield new Uint8Array(chunk);
      decodedBytes += chunk.byteLength;
      turnBytes += chunk.byteLength;
      if (turnBytes < TURN_BYTES) continue;
      turnBytes = 0;
      const turn = Promise.withResolvers<void>();
      setTimeout(turn.resolve, 0);
      await turn.promise;
    }
  } catch (cause) {
    if (decodedBytes === 0 || !followsEnd(cause)) throw cause;
  }
};

/** Unlike the other decoders, zstd's decoder takes the data of a later chunk for another frame. */
const followsEnd = (cause: unknown): boolean =>
  cause instanceof Error && cause.message.endsWith("Unknown frame descriptor");

/** The inner part of a decoder. */
interface Inner {
  readonly _handle: { write: (...call: readonly unknown[]) => void };
}

/**
 * The platform's decoders are called back within their call. So brotli's decoder produces all of its output, however little is
 * read, and a failure of the others may overtake earlier output. A deferred call avoids both.
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
