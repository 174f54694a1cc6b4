/**
 * Upstream calls over the platform's fetch. Redirects are never followed: an address that was checked when it was saved
 * must not redirect to one that was not (docs/rules/network-safety.md#address-policy). Where the platform has a
 * separate network for registered addresses, they are reached through that network only.
 */
import { type ContentCoding, codingOf } from "../domain/wire/content-coding.ts";
import type { Upstream } from "../ports.ts";
import { decodeBody } from "./decode-body.ts";

/** `registered`: the network for addresses that an admin registered; undefined: they have no separate network. */
export function upstreamHttp(registered: Fetcher | undefined): Upstream {
  return {
    async fetch({ url, method, headers, body, signal, trusted }) {
      const send: Fetcher["fetch"] = trusted || registered === undefined ? fetch : registered.fetch.bind(registered);
      const init = { headers, signal, redirect: "manual" } as const;
      // With its method named again, a GET with a body would be refused.
      const response =
        body instanceof Request ? await send(new Request(url, body), init) : await send(url, { ...init, method, body });
      return response.headers.has("content-encoding") ? withoutCoding(response) : response;
    },
  };
}

/** The answer without a coding that nobody asked for; in one that is not read, it stays as it is, and says so. */
function withoutCoding(response: Response): Response {
  const { status, statusText, body } = response;
  const named = response.headers.get("content-encoding");
  const coding = codingOf(named);
  if (coding === undefined) return response;
  const headers = new Headers(response.headers);
  headers.delete("content-encoding");
  headers.delete("content-length");
  // the platform has decoded these two, if they are written so
  const isDecoded = coding === null || named === "gzip" || named === "br";
  const plain = body === null || isDecoded ? body : decodedStream(body, coding);
  return new Response(plain, { status, statusText, headers });
}

/** A stream of bytes, as the platform's own answers have. */
function decodedStream(body: ReadableStream<Uint8Array>, coding: ContentCoding): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const chunks = decodeBody(coding, piecesOf(reader))[Symbol.asyncIterator]();
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done !== true) return controller.enqueue(value);
      controller.close();
      // a reader that waits with its own buffer gets it back
      controller.byobRequest?.respond(0);
    },
    cancel: async (reason) => await reader.cancel(reason),
  });
}

async function* piecesOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
}
