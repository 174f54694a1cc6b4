/** An HTTP server of a test's own that runs as long as the tests of its file. */
import { createServer, type RequestListener } from "node:http";
import { afterAll, beforeAll } from "vitest";
import { type Listening, listen } from "../../infra/local/http/listen.ts";

/** Registers the hooks; returns the server's origin, which exists once tests run. */
export function useServer(listener: RequestListener): () => string {
  let listening: Listening;
  beforeAll(async () => {
    listening = await listen(createServer(listener), "127.0.0.1", 0);
  });
  afterAll(async () => await listening.close());
  return () => listening.url;
}
