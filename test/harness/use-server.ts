/** An HTTP server of a test's own, for as long as its tests run. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll } from "vitest";

/** Registers the hooks; answers the server's origin, which is there once tests run. */
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
