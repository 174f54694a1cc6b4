/**
 * A chat upstream of known capacity: it serves a fixed number of requests at once, each for a fixed time; the others wait
 * in order.
 */
import { createServer } from "node:http";
import { listen } from "../../infra/local/http/listen.ts";

export async function startNarrowUpstream(capacity: number, serviceMs: number) {
  let asked = 0;
  let inFlight = 0;
  let serving = 0;
  const line: (() => void)[] = [];
  const next = (): void => {
    const serve = serving < capacity ? line.shift() : undefined;
    if (serve === undefined) return;
    serving += 1;
    serve();
    next();
  };
  const server = createServer((request, response) => {
    asked += 1;
    inFlight += 1;
    response.on("close", () => {
      inFlight -= 1;
    });
    request.resume().on("end", () => {
      line.push(() =>
        setTimeout(() => {
          serving -= 1;
          response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content: "pong" } }] }));
          next();
        }, serviceMs),
      );
      next();
    });
  });
  const bound = await listen(server, "127.0.0.1", 0);
  return {
    url: bound.url,
    /** How many requests have arrived so far. */
    get asked() {
      return asked;
    },
    /** How many requests wait or are being served. */
    get inFlight() {
      return inFlight;
    },
    close: async (): Promise<void> => await bound.close(),
  };
}
