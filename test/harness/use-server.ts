/** An HTTP server of a test's own that runs as long as the tests of its file. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll } from "vitest";

/** Registers the hooks; returns the server's origin, which exists once tests run. */
export function useServer(listener: RequestListener): () => string {
  const server = createServer(listener);
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  });
  return () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
