/**
 * A request whose path, headers and body are sent exactly as they are given: fetch would normalize the path, and refuses a
 * GET with a body.
 */
import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

export interface RawRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** "" without one. */
  readonly requestId: string;
  readonly text: string;
}

/** Sends it to `baseUrl`; returns the answer with its whole body. */
export async function rawRequest(baseUrl: string, { method, path, headers, body }: RawRequest): Promise<RawAnswer> {
  const { hostname, port } = new URL(baseUrl);
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const outgoing = request({ hostname, port, path, method, headers: { ...length, ...headers } });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  const requestId = String(incoming.headers["x-gateway-request-id"] ?? "");
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, requestId, text: await text(incoming) };
}
