/**
 * Upstream calls over the platform's fetch. Redirects are never followed: an address that was checked when it was saved
 * must not redirect to one that was not (docs/rules/network-safety.md#address-policy). Where the platform has a
 * separate network for registered addresses, they are reached through that network only.
 */
import { codingOf } from "../domain/wire/content-coding.ts";
import { DocumentEnd } from "../domain/wire/json/document-end.ts";
import type { Upstream } from "../ports.ts";
import { decodeBody } from "./decode-body.ts";

const HELD_MAX_BYTES = 64 * 1024;

/** `registered`: the network for addresses that an admin registered; undefined: they have no separate network. */
export function upstreamHttp(registered: Fetcher | undefined): Upstream {
  return {
    async fetch({ url, method, headers, body, signal, trusted }) {
      const send: Fetcher["fetch"] = trusted || registered === undefined ? fetch : registered.fetch.bind(registered);
      const init = { headers, signal, redirect: "manual" } as const;
      // With its method named again, a GET with a body would be refused.
      const response =
        body instanceof Request ? await send(new Request(url, body), init) : await send(url, { ...init, method, body });
      return response.headers.has("content-encoding") ? await withoutCoding(response) : response;
    },
  };
}

/**
 * The answer, decoded if its coding was not asked for; an answer in an unknown coding stays unchanged, and says so. Rejects if
 * it is a document whose start cannot be read.
 */
async function withoutCoding(response: Response): Promise<Response> {
  const { status, statusText, body } = response;
  const named = response.headers.get("content-encoding");
  const coding = codingOf(named);
  if (coding === undefined) return response;
  const headers = new Headers(response.headers);
  headers.delete("content-encoding");
  headers.delete("content-length");
  // the platform has decoded these two, if they are written so
  const isDecoded = coding === null || named === "gzip" || named === "br";
  if (body === null) return new Response(body, { status, statusText, headers });
  const reader = body.getReader();
  const pieces = piecesOf(reader);
  const chunks = isDecoded ? pieces : decodeBody(coding, pieces);
  const isDocument = /^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? "");
  const plain = decoded(chunks, isDocument);
  const first = isDocument ? await plain.next() : null;
  const bytes = bytesOf(first, plain, async (reason) => await reader.cancel(reason));
  return new Response(bytes, { status, statusText, headers });
}

/** A stream of bytes, as the platform's own answers have. */
function bytesOf(
  first: IteratorResult<Uint8Array> | null,
  chunks: AsyncIterator<Uint8Array>,
  cancel: (reason: unknown) => Promise<void>,
): ReadableStream<Uint8Array> {
  let read = first;
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      const { done, value } = read ?? (await chunks.next());
      read = null;
      if (done !== true) return controller.enqueue(value);
      controller.close();
      // a reader that waits with its own buffer gets it back
      controller.byobRequest?.respond(0);
    },
    cancel,
  });
}

/**
 * The output of the platform's or the library's decoder, and in words why it failed. The platform notices trailing data only
 * after the whole coded body. After a whole document it is ignored, as readers of gzip do. Of other documents enough is held
 * back that most of them fail before the client gets a byte.
 */
async function* decoded(chunks: AsyncIterable<Uint8Array>, isDocument: boolean): AsyncGenerator<Uint8Array> {
  const end = new DocumentEnd();
  let held: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      if (isDocument) end.push(chunk);
      held.push(chunk);
      bytes += chunk.byteLength;
      if (isDocument && bytes <= HELD_MAX_BYTES) continue;
      yield* held;
      held = [];
    }
  } catch (error) {
    if (!isOfCoding(error)) throw error;
    if (!end.reached) throw new Error("the answer does not match its content-encoding");
  }
  yield* held;
}

/** Whether a failure is one of decoding: the platform's has a text, the library's a code. */
function isOfCoding(error: unknown): boolean {
  const { message = "", code = "" } = error as { readonly message?: unknown; readonly code?: unknown };
  return /compress/i.test(String(message)) || String(code).startsWith("Z");
}

async function* piecesOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
}
