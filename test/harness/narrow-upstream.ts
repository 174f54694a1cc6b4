/**
 * A chat upstream of known capacity: it serves a fixed number of requests at once, each for a fixed time; the others wait
 * in order.
 */
import { startHttpSink } from "./http-sink.ts";

export async function startNarrowUpstream(capacity: number, serviceMs: number) {
  let [inFlight, serving] = [0, 0];
  const line: (() => void)[] = [];
  const next = (): void => {
    const serve = serving < capacity ? line.shift() : undefined;
    if (serve === undefined) return;
    serving += 1;
    serve();
    next();
  };
  const sink = await startHttpSink(() => (response) => {
    inFlight += 1;
    response.on("close", () => {
      inFlight -= 1;
    });
    const serve = () => {
      serving -= 1;
      response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content: "pong" } }] }));
      next();
    };
    line.push(() => setTimeout(serve, serviceMs));
    next();
  });
  return {
    url: sink.url,
    /** How many requests have arrived so far. */
    get asked() {
      return sink.asked.length;
    },
    /** How many requests wait or are being served. */
    get inFlight() {
      return inFlight;
    },
    close: sink.close,
  };
}
