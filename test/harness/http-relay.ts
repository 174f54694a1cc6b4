/** An HTTP server that passes every request on. Bytes are forwarded unchanged, and so is the end of either side. */
import { createServer, request } from "node:http";
import { pipeline } from "node:stream";
import { type Listening, listen } from "../../infra/local/http/listen.ts";

interface RelayOptions {
  /** Headers that every request gets, for programs that cannot send them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long each request takes to arrive, in turn, ms. */
  readonly delaysMs?: readonly number[];
}

/** Delays with which requests overtake each other as between machines. Their number is prime, so that they fall differently on requests that repeat. */
export const DISTANCE_MS = [0, 9, 1, 5, 0, 13, 3];

/** Listens on a free loopback port and forwards to `target`, an origin. */
export async function startHttpRelay(
  target: string,
  { headers = {}, delaysMs = [] }: RelayOptions,
): Promise<Listening> {
  let count = 0;
  const server = createServer((incoming, response) => {
    count += 1;
    const pass = (): void => {
      const { method, url, headers: given } = incoming;
      const outgoing = request(target, { method, path: url, headers: { ...given, ...headers } }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        response.flushHeaders();
        pipeline(answer, response, () => undefined);
      });
      outgoing.on("error", () => response.destroy());
      response.on("close", () => outgoing.destroy());
      pipeline(incoming, outgoing, () => undefined);
    };
    if (delaysMs.length === 0) pass();
    else setTimeout(pass, delaysMs[count % delaysMs.length]);
  });
  return await listen(server, "127.0.0.1", 0);
}
