/**
 * Reads a request body within the cap (decisions §17.2): a declared length above it is refused unread, an undeclared one
 * as soon as it passes.
 */
import { GatewayError } from "../../shared/errors.ts";
import { ClientGone } from "./context.ts";

/** The whole body. Throws 413 `request_too_large`, or ClientGone when the client stops sending. */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > maxBytes) throw new GatewayError("request_too_large");
  if (request.body === null) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw new ClientGone("the request body broke off", { cause });
    });
    if (done) break;
    size += value.byteLength;
    if (size > maxBytes) {
      await discard(reader, 2 * maxBytes);
      throw new GatewayError("request_too_large");
    }
    chunks.push(value);
  }
  const body = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.byteLength;
  }
  return body;
}

/**
 * Reads a bounded rest and throws it away: a client that is still writing would see its connection reset before it could
 * read the refusal.
 */
async function discard(reader: ReadableStreamDefaultReader<Uint8Array>, maxBytes: number): Promise<void> {
  try {
    for (let size = 0; size <= maxBytes; ) {
      const { done, value } = await reader.read();
      if (done) return;
      size += value.byteLength;
    }
    await reader.cancel();
  } catch {
    // The client has gone; nobody is left to be refused.
  }
}
