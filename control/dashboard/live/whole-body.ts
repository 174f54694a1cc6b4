/** Reads a body whole before anything is done with it (docs/rules/console.md#live). */
import { GatewayError } from "../../../shared/errors.ts";
import { BODY_MAX_BYTES } from "../../api/guard.ts";

/** Throws GatewayError 408 when it has not come within `withinMs`, 413 when it is larger than the Management API takes. */
export async function wholeBody(body: ReadableStream<Uint8Array>, withinMs: number): Promise<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new GatewayError("request_timeout", { headers: { connection: "close" } })),
    withinMs,
  );
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late.promise]);
      if (done) return new Uint8Array(Buffer.concat(pieces));
      bytes += value.byteLength;
      if (bytes > BODY_MAX_BYTES.management)
        throw new GatewayError("request_too_large", { headers: { connection: "close" } });
      pieces.push(value);
    }
  } finally {
    clearTimeout(timer);
  }
}
