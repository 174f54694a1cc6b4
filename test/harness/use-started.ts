/** Parts of a test's own that run as long as the tests of its file. */
import { createServer, type RequestListener } from "node:http";
import { afterAll, beforeAll } from "vitest";
import { listen } from "../../infra/local/http/listen.ts";

/** Registers the hooks that start a part and close it; returns what gives the part once tests run. */
export function useStarted<T extends { close(): unknown }>(start: () => Promise<T>): () => T {
  let started: T | undefined;
  beforeAll(async () => {
    started = await start();
  });
  afterAll(async () => await started?.close());
  return () => {
    if (started === undefined) throw new Error("it starts with the tests");
    return started;
  };
}

/** The same with an HTTP server; returns what gives its origin. */
export function useServer(listener: RequestListener): () => string {
  const server = useStarted(async () => await listen(createServer(listener), "127.0.0.1", 0));
  return () => server().url;
}
