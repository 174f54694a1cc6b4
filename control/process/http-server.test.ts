/** Where a server listens when its usual port is taken (docs/rules/console.md#on-npm-start). */
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { type HttpServer, serveAt, serveAtFreePort } from "./http-server.ts";

const answer = (): Response => new Response("here");
const closing = (server: HttpServer): HttpServer => {
  onTestFinished(async () => await server.close());
  return server;
};
const A = { variable: "A", stalledReaderMs: 0 };
const portOf = ({ address }: HttpServer): number => Number(new URL(address).port);

it("is the next free port, and its address is the true one", async () => {
  const first = closing(await serveAt(answer, { host: "127.0.0.1", port: 0 }, A));
  const taken = { host: "127.0.0.1", port: portOf(first) };
  const next = closing(await serveAtFreePort(answer, taken, 100, A));
  expect(portOf(next)).toBeGreaterThan(portOf(first));
  expect(await (await fetch(next.address)).text()).toBe("here");
  await expect(serveAtFreePort(answer, taken, 0, { ...A, variable: "GATEWAY_X" })).rejects.toThrow(
    `GATEWAY_X 127.0.0.1:${taken.port} is in use by another process`,
  );
});

it("is no other one when the address cannot be used at all", async () => {
  const elsewhere = { host: "192.0.2.1", port: 3000 };
  await expect(serveAtFreePort(answer, elsewhere, 20, A)).rejects.toMatchObject({ code: "EADDRNOTAVAIL" });
});

it("ends with the answers that are under way", async () => {
  const { promise: go, resolve: release } = Promise.withResolvers<void>();
  const { promise: asked, resolve: arrived } = Promise.withResolvers<void>();
  const server = await serveAt(
    async () => {
      arrived();
      await go;
      return answer();
    },
    { host: "127.0.0.1", port: 0 },
    A,
  );
  const under = fetch(server.address, { headers: { connection: "close" } });
  await asked;
  const closed = server.close();
  release();
  expect(await (await under).text()).toBe("here");
  await closed;
  await expect(fetch(server.address)).rejects.toThrow();
});

it("cuts off a client that never reads its answer, which is then not made any more", async () => {
  const { promise: ended, resolve: onCancel } = Promise.withResolvers<void>();
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)),
    cancel: () => onCancel(),
  });
  const server = closing(
    await serveAt(() => new Response(endless), { host: "127.0.0.1", port: 0 }, { ...A, stalledReaderMs: 40 }),
  );
  const client = connect(portOf(server), "127.0.0.1").on("error", () => undefined);
  client.pause().write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  onTestFinished(() => void client.destroy());
  await ended;
});
