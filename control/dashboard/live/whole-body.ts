/** Reads a body whole before anything is done with it (docs/rules/console.md#live). */
import { GatewayError } from "../../../shared/errors.ts";
import { BODY_MAX_BYTES } from "../../api/guard.ts";

interface BodyBounds {
  readonly withinMs: number;
  readonly maxBytes?: number;
  /** Aborted: the body is waited for no longer, as if it were late. */
  readonly givenUp?: AbortSignal;
}

/** Throws GatewayError 408 when it has not come in time, 413 when it is larger than it may be. */
export async function wholeBody(
  body: ReadableStream<Uint8Array>,
  { withinMs, maxBytes = BODY_MAX_BYTES.management, givenUp }: BodyBounds,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const late = Promise.withResolvers<never>();
  const onLate = (): void => late.reject(new GatewayError("request_timeout", { headers: { connection: "close" } }));
  const timer = setTimeout(onLate, withinMs);
  givenUp?.addEventListener("abort", onLate, { once: true });
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late.promise]);
      if (done) return new Uint8Array(Buffer.concat(pieces));
      bytes += value.byteLength;
      if (bytes > maxBytes) throw new GatewayError("request_too_large", { headers: { connection: "close" } });
      pieces.push(value);
    }
  } finally {
    clearTimeout(timer);
  }
}
