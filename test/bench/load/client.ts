/**
 * One client of the load generator: one connection that stays open, one request at a time. It never retries: a request that
 * does not end well is an outcome.
 */
import { Client, type Dispatcher } from "undici";
import type { SliceReading } from "../slice.ts";
import { AnswerReader, clockMs, type StreamTimes } from "./answer-reader.ts";

interface CallOutcome {
  readonly ms: number;
  /** Null when it ended well. */
  readonly failure: string | null;
}

const LONGEST_MS = 120_000;

export class LoadClient {
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
