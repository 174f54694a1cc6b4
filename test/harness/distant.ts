/**
 * An HTTP service as it appears from far away: every request takes a different time to arrive, so that requests overtake
 * each other as they do between machines.
 */
import { createServer, request as forward } from "node:http";
import { type Listening, listen } from "../../infra/local/http/listen.ts";

/** The delays in turn, in ms. Their number is prime, so that they fall differently on requests that repeat. */
const DELAYS_MS = [0, 9, 1, 5, 0, 13, 3];

/** Listens on a free port and passes requests on to `url`. */
export async function startDistant(url: string): Promise<Listening> {
  let count = 0;
  const front = createServer((request, response) => {
    count += 1;
    const pass = (): void => {
      const target = new URL(request.url ?? "/", url);
      const { method, headers } = request;
      const there = forward(target, { method: method ?? "GET", headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      there.on("error", () => response.destroy());
      request.pipe(there);
    };
    setTimeout(pass, DELAYS_MS[count % DELAYS_MS.length]);
  });
  return await listen(front, "127.0.0.1", 0);
}
