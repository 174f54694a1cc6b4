/** What the Management API of another process does continues when a browser leaves, and counts until it has ended. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { waitFor } from "../../test/harness/wait-for.ts";
import { remoteManagement } from "./remote-management.ts";

/** A Management API that answers on a signal. */
async function managementBefore(leftMs?: number) {
  const asked: http.ServerResponse[] = [];
  const server = http.createServer((_request, response) => void asked.push(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const call = remoteManagement(`http://127.0.0.1:${port}`, pino({ level: "silent" }), leftMs);
  const leaving = new AbortController();
  const events: string[] = [];
  const over = call(new Request("http://management.invalid/api/v1/keys", { signal: leaving.signal }))
    .then(
      () => "answered",
      () => "ended",
    )
    .then((event) => void events.push(event));
  await waitFor(
    () => asked.length,
    (count) => count === 1,
  );
  return { asked, leaving, events, over };
}

it("a call whose browser leaves is over when the far side has answered", async () => {
  const { asked, leaving, events, over } = await managementBefore();
  leaving.abort();
  await new Promise((resolve) => setImmediate(resolve));
  events.push("the far side answers");
  asked[0]?.end("[]");
  await over;
  expect(events).toEqual(["the far side answers", "answered"]);
});

it("a call whose browser leaves is over after a time when the far side does not answer", async () => {
  const { leaving, events, over } = await managementBefore(50);
  leaving.abort();
  await over;
  expect(events).toEqual(["ended"]);
});
