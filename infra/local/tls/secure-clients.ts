/**
 * TLS for the clients of a front. A client speaks TLS from its first byte on, or gets an answer that it must; a client that
 * takes too long is disconnected. Open connections keep the certificate that they started with.
 */
import type net from "node:net";
import tls from "node:tls";
import { MIN_TLS_VERSION } from "./certificate.ts";
import type { ServedCertificate } from "./served-certificate.ts";

/** For the first byte, and for the handshake after it. */
const HANDSHAKE_MS = 10_000;
const HANDSHAKE_RECORD = 0x16;
const LINGER_MS = 2_000;

/** Takes a client whose bytes can be read; `reset` breaks its connection off. */
type Serve = (client: net.Socket, reset: () => void) => void;

/** The answer to a request in plain HTTP, in the form of the gateway's own errors. */
const NEEDS_HTTPS = JSON.stringify({
  error: {
    message: "this port speaks HTTPS: write https:// in the address",
    type: "invalid_request_error",
    code: "https_required",
    param: null,
  },
});
const PLAIN_ANSWER = [
  "HTTP/1.1 400 Bad Request",
  "content-type: application/json",
  `content-length: ${Buffer.byteLength(NEEDS_HTTPS)}`,
  "connection: close",
  "",
  NEEDS_HTTPS,
].join("\r\n");

/** Between clients that speak TLS and what serves them. */
export interface SecureClients {
  /** Takes the raw connection of a client, which nothing has read yet. */
  accept(raw: net.Socket, serve: Serve): void;
}

interface Arriving {
  readonly raw: net.Socket;
  readonly serve: Serve;
}

/** Clients that get the current certificate of `served`. */
export function secureClients(served: ServedCertificate): SecureClients {
  const contextOf = ({ cert, key }: { cert: string; key: string }) =>
    ({ cert, key, minVersion: MIN_TLS_VERSION }) as const;
  /** Clients in the handshake. A connection is identified by its two ends, which its secure side has too. */
  const arriving = new Map<string, Arriving>();
  const server = tls.createServer({
    ...contextOf(served.now),
    // The bytes continue unchanged, to a runtime that speaks HTTP/1.1.
    ALPNProtocols: ["http/1.1"],
    handshakeTimeout: HANDSHAKE_MS,
  });
  served.onChange((certificate) => server.setSecureContext(contextOf(certificate)));
  server.on("tlsClientError", (_, client) => client.destroy());
  server.on("secureConnection", (client) => {
    const name = nameOf(client);
    const found = arriving.get(name);
    arriving.delete(name);
    if (found === undefined) return void client.destroy();
    client.allowHalfOpen = true;
    client.on("error", () => client.destroy());
    found.serve(client, () => found.raw.resetAndDestroy());
  });
  return {
    accept: (raw, serve) => {
      const name = nameOf(raw);
      raw.on("error", () => raw.destroy());
      // A client that has left has no address, and could be taken for another one.
      if (raw.remoteAddress === undefined) return void raw.destroy();
      raw.once("close", () => {
        if (arriving.get(name)?.raw === raw) arriving.delete(name);
      });
      const leave = (): void => void raw.destroy();
      raw.once("end", leave);
      raw.setTimeout(HANDSHAKE_MS, leave);
      raw.once("data", (first: Buffer) => {
        raw.setTimeout(0, leave);
        raw.off("end", leave);
        if (first[0] !== HANDSHAKE_RECORD) return answerPlain(raw);
        raw.pause();
        raw.unshift(first);
        // A client that ends during the handshake is gone; after it, the front handles the end of a client.
        raw.allowHalfOpen = false;
        arriving.set(name, { raw, serve });
        server.emit("connection", raw);
      });
    },
  };
}

/** The client's remaining bytes are read and discarded for a moment: closing at once could cut off its answer. */
function answerPlain(raw: net.Socket): void {
  raw.once("end", () => raw.destroySoon());
  raw.resume();
  raw.end(PLAIN_ANSWER);
  const lingered = setTimeout(() => raw.destroy(), LINGER_MS);
  raw.once("close", () => clearTimeout(lingered));
}

function nameOf({ remoteAddress, remotePort, localAddress, localPort }: net.Socket): string {
  return [remoteAddress, remotePort, localAddress, localPort].join(" ");
}
