/**
 * A request whose path, headers and body are sent exactly as they are given: fetch would normalize the path, and refuses a
 * GET with a body.
 */
import { type IncomingHttpHeaders, request } from "node:http";

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
  return await new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, path, method, headers: { ...length, ...headers } }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          requestId: String(incoming.headers["x-gateway-request-id"] ?? ""),
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
