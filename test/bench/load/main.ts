/**
 * The load generator, a process of its own: it runs the slices that it gets, one at a time, and answers each with its
 * results. Clients keep their connections from slice to slice, so that rounds do not measure connecting.
 */

import { Client, type Dispatcher } from "undici";
import { watchParent } from "../../../infra/local/process/watch-parent.ts";
import { FRESH, type Slice, type SliceReading, type SliceResult } from "../slice.ts";
import { AnswerReader, clockMs, type StreamTimes } from "./answer-reader.ts";

interface CallOutcome {
  readonly ms: number;
  /** Null when it ended well. */
  readonly failure: string | null;
}

const LONGEST_MS = 120_000;

/**
 * One connection that stays open, one request at a time. It never retries: a request that does not end well is an outcome.
 */
class LoadClient {
  readonly #client: Client;

  constructor(origin: string) {
    this.#client = new Client(origin, {
      keepAliveTimeout: LONGEST_MS,
      keepAliveMaxTimeout: LONGEST_MS,
      headersTimeout: LONGEST_MS,
      bodyTimeout: LONGEST_MS,
    });
  }

  /** Sends one request and reads its answer to the end. Never rejects. */
  async send(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string | Buffer,
    reading: SliceReading,
    times: StreamTimes,
  ): Promise<CallOutcome> {
    return await new Promise((resolve) => {
      const calledMs = clockMs();
      const reader = new AnswerReader(reading, times, calledMs);
      let status = 0;
      const end = (failure: string | null): void => resolve({ ms: clockMs() - calledMs, failure });
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, statusCode) => {
          status = statusCode;
        },
        onResponseData: (_controller, chunk) => reader.read(status, chunk),
        onResponseEnd: () => end(reader.verdict(status)),
        onResponseError: (_controller, error) => end((error as NodeJS.ErrnoException).code ?? error.name),
      };
      this.#client.dispatch({ path, method: "POST", headers, body }, handler);
    });
  }

  async close(): Promise<void> {
    await this.#client.destroy();
  }
}

const clients = new Map<string, LoadClient[]>();
let serial = 0;

function clientsOf(origin: string, count: number): readonly LoadClient[] {
  const kept = clients.get(origin) ?? [];
  clients.set(origin, kept);
  while (kept.length < count) kept.push(new LoadClient(origin));
  return kept.slice(0, count);
}

/** Texts of this run start with it, so that no earlier run has sent the same text. */
const RUN = `${process.pid.toString(36)}-${Date.now().toString(36)}`;

async function run(slice: Slice): Promise<SliceResult> {
  const { origin, pathname } = new URL(slice.url);
  const [before = "", after] = slice.body.split(FRESH);
  const fixed = Buffer.from(slice.body);
  const times: StreamTimes = { firstMs: [], addedGapMs: [], longestGapMs: 0 };
  const latencyMs: number[] = [];
  const failures: Record<string, number> = {};
  let [sent, debt] = [0, 0];
  const startedMs = clockMs();
  const untilMs = startedMs + slice.durationMs;

  /** The share is met exactly: each request adds the share to a sum, and a request with a fresh text takes one from it. */
  const body = (): Buffer | string => {
    debt += slice.freshShare;
    if (after === undefined || debt < 0.999_999) return fixed;
    debt -= 1;
    serial += 1;
    return `${before}${RUN}-${serial}${after}`;
  };
  const clientRun = async (client: LoadClient): Promise<void> => {
    do {
      const headers = slice.headers[sent % slice.headers.length] ?? {};
      sent += 1;
      const { ms, failure } = await client.send(pathname, headers, body(), slice.reading, times);
      if (failure !== null) failures[failure] = (failures[failure] ?? 0) + 1;
      else latencyMs.push(ms);
    } while (clockMs() < untilMs || sent < slice.leastRequests);
  };
  await Promise.all(clientsOf(origin, slice.concurrency).map(clientRun));
  return {
    sent,
    endedWell: latencyMs.length,
    elapsedMs: clockMs() - startedMs,
    failures,
    latencyMs: Float64Array.from(latencyMs),
    firstMs: Float64Array.from(times.firstMs),
    addedGapMs: Float64Array.from(times.addedGapMs),
    longestGapMs: times.longestGapMs,
  };
}

watchParent(() => process.exit(0));
process.on("message", (message: { readonly id: number; readonly input: Slice }) => {
  void run(message.input).then(
    (answer) => process.send?.({ id: message.id, answer }),
    (error: unknown) => process.send?.({ id: message.id, error: String(error) }),
  );
});
process.send?.({ ready: {} });
