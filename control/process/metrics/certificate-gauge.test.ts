/** @module-tag check */
import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import tls from "node:tls";
import { afterEach, expect, it } from "vitest";
import { makeCertificate } from "../../../test/harness/certificates.ts";
import type { Listen } from "../../kernel/env-field.ts";
import { certificateGauge } from "./certificate-gauge.ts";

const servers: net.Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listening(server: net.Server): Promise<Listen> {
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { host: "localhost", port: (server.address() as AddressInfo).port };
}
const shown = async (address: Listen | null) => (await certificateGauge(address).get()).values[0]?.value;

it("says when the certificate that is shown ends", async () => {
  const endsAt = new Date(Math.floor(Date.now() / 1000) * 1000 + 86_400_000);
  const names: unknown[] = [];
  const server = tls.createServer({
    ...(await makeCertificate([], endsAt)),
    SNICallback: (name, done) => {
      names.push(name);
      done(null);
    },
  });
  expect(await shown(await listening(server))).toBe(endsAt.getTime() / 1000);
  expect(names).toEqual(["localhost"]);
});

it("says nothing where nobody answers, and gives the connection up", async () => {
  const { promise: isClosed, resolve } = Promise.withResolvers<void>();
  const silent = net.createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
    socket.resume();
  });
  expect(await shown(await listening(silent))).toBeNaN();
  await isClosed;
});

it("says nothing where nobody listens, where no TLS is spoken, and without an address", async () => {
  const plain = net.createServer((socket) => {
    socket.on("error", () => undefined);
    socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  const at = await listening(plain);
  expect(await Promise.all([at, { host: "127.0.0.1", port: 9 }, null].map(shown))).toEqual([NaN, NaN, NaN]);
});
