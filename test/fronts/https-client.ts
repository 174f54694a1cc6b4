/**
 * A client of a front, over HTTP/2 or HTTP/1.1 within TLS. It connects from an address of its own, so that the front's own
 * address and the client's can be told apart.
 */
import { once } from "node:events";
import http2 from "node:http2";
import https from "node:https";
import type { Readable } from "node:stream";
import tls from "node:tls";

/** From where clients connect; fronts connect from 127.0.0.1. */
export const CLIENT_ADDRESS = "127.0.0.2";

export type Protocol = "h2" | "http/1.1";

/** A front that listens on loopback, and the certificate that it must show. */
export interface FrontAddress {
  readonly port: number;
  /** Where it takes plain HTTP, to refuse it. */
  readonly plainPort: number;
  readonly ca: string;
}

export interface HttpsRequest {
  readonly host: string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** An answer that has begun. */
interface HttpsAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** What has arrived of the body so far. */
  readonly text: () => string;
  /** The whole body. Rejects when it breaks off. */
  readonly whole: () => Promise<string>;
}

interface SentRequest {
  readonly answer: Promise<HttpsAnswer>;
  /** The client no longer wants the answer. */
  leave(): void;
}

export function send(front: FrontAddress, protocol: Protocol, request: HttpsRequest): SentRequest {
  return protocol === "h2" ? sendHttp2(front, request) : sendHttp1(front, request);
}

/** Sends a request and reads the answer to its end. */
export async function ask(
  front: FrontAddress,
  protocol: Protocol,
  request: HttpsRequest,
): Promise<{ readonly status: number; readonly headers: HttpsAnswer["headers"]; readonly text: string }> {
  const { status, headers, whole } = await send(front, protocol, request).answer;
  return { status, headers, text: await whole() };
}

function connection({ port, ca }: FrontAddress, servername: string, protocol: Protocol) {
  const way = { host: "127.0.0.1", localAddress: CLIENT_ADDRESS, port };
  return { ...way, ca, servername, ALPNProtocols: [protocol] };
}

function sendHttp1(front: FrontAddress, { host, method = "POST", path, headers, body }: HttpsRequest): SentRequest {
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const outgoing = https.request({
    ...connection(front, host, "http/1.1"),
    agent: false,
    method,
    path,
    headers: { host, ...length, ...headers },
  });
  // A server may answer, and end the connection, while the body is still on its way.
  outgoing.on("error", () => undefined);
  outgoing.end(body);
  const answer = once(outgoing, "response").then(([incoming]) => {
    const { statusCode = 0, headers: given } = incoming as { statusCode?: number; headers: HttpsAnswer["headers"] };
    return { status: statusCode, headers: given, ...reading(incoming as Readable) };
  });
  return { answer, leave: () => void outgoing.destroy() };
}

function sendHttp2(front: FrontAddress, { host, method = "POST", path, headers, body }: HttpsRequest): SentRequest {
  const session = http2.connect(`https://${host}`, {
    createConnection: () => tls.connect(connection(front, host, "h2")),
  });
  session.on("error", () => undefined);
  const stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: body === undefined });
  stream.on("error", () => undefined);
  stream.once("close", () => session.close());
  if (body !== undefined) stream.end(body);
  const answer = once(stream, "response").then(([given]) => {
    const found = given as http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader;
    return { status: found[":status"] ?? 0, headers: found, ...reading(stream) };
  });
  return { answer, leave: () => stream.close(http2.constants.NGHTTP2_CANCEL) };
}

function reading(body: Readable): Pick<HttpsAnswer, "text" | "whole"> {
  let text = "";
  body.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  body.on("error", () => undefined);
  const ended = once(body, "end");
  ended.catch(() => undefined);
  return {
    text: () => text,
    whole: async () => {
      await ended;
      return text;
    },
  };
}
