/**
 * TLS at the front: real handshakes, before an inner server that the test controls.
 *
 * @module-tag check
 */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls from "node:tls";
import { afterEach, beforeAll, expect, it } from "vitest";
import { type MadeCertificate, makeCertificate } from "../../../test/harness/certificates.ts";
import { startFrontProxy } from "../front.ts";
import { secureClients } from "./secure-clients.ts";
import { ServedCertificate } from "./served-certificate.ts";

let first: MadeCertificate;
let second: MadeCertificate;
beforeAll(async () => {
  [first, second] = await Promise.all([makeCertificate(), makeCertificate()]);
});

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function setUp() {
  const folder = mkdtempSync(join(tmpdir(), "gateway-tls-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const files = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
  const write = ({ cert, key }: MadeCertificate): void => {
    writeFileSync(files.certFile, cert);
    writeFileSync(files.keyFile, key);
  };
  write(first);
  const served = await ServedCertificate.open({ files, log: () => undefined, nowMs: Date.now });
  if ("problem" in served) throw new Error(served.problem);
  const inner: net.Socket[] = [];
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    inner.push(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  let isThere = true;
  const targets = () => (isThere ? [{ host: "127.0.0.1", port }] : []);
  const front = await startFrontProxy("127.0.0.1", 0, targets, secureClients(served));
  cleanups.push(
    () => server.close(),
    () => front.close(),
    () => {
      for (const socket of inner) socket.destroy();
    },
  );
  /** There is no runtime until the returned function is called. */
  const stop = () => {
    isThere = false;
    return () => {
      isThere = true;
    };
  };
  const connectSecurely = (ca = first.cert, more: tls.ConnectionOptions = {}): tls.TLSSocket => {
    const client = tls.connect({ host: "127.0.0.1", port: front.port, ca, servername: "localhost", ...more });
    client.on("error", () => undefined);
    cleanups.push(() => client.destroy());
    return client;
  };
  const connect = async (ca = first.cert, more: tls.ConnectionOptions = {}) => {
    const client = connectSecurely(ca, more);
    const count = inner.length;
    await once(client, "secureConnect");
    await expect.poll(() => inner.length).toBe(count + 1);
    return { client, inner: inner.at(-1) as net.Socket };
  };
  const connectPlain = (): net.Socket => {
    const client = net.connect(front.port, "127.0.0.1");
    client.on("error", () => undefined);
    cleanups.push(() => client.destroy());
    return client;
  };
  return { front, served, write, connect, connectSecurely, connectPlain, stop, inner };
}

const collect = (socket: net.Socket) => {
  const got = { text: "", bytes: 0, ended: false };
  socket.on("data", (chunk: Buffer) => {
    got.bytes += chunk.length;
    if (got.text.length < 1000) got.text += chunk.toString();
  });
  socket.on("end", () => (got.ended = true));
  return got;
};

it("carries bytes both ways, and a long answer to its end", async () => {
  const { connect } = await setUp();
  const { client, inner } = await connect();
  expect(client.alpnProtocol).toBe(false);
  const [asked, answer] = [collect(inner), collect(client)];
  client.write("ping");
  await expect.poll(() => asked.text).toBe("ping");
  inner.end(Buffer.alloc(5_000_000, "x"));
  await expect.poll(() => [answer.bytes, answer.ended], { timeout: 20_000 }).toEqual([5_000_000, true]);
});

for (const [how, leave] of [
  ["ends politely", (client: tls.TLSSocket) => client.end()],
  ["closes", (client: tls.TLSSocket) => client.destroy()],
] as const) {
  it(`resets the inner connection when the client ${how} before its answer`, async () => {
    const { connect } = await setUp();
    const { client, inner } = await connect();
    const reset = new Promise<NodeJS.ErrnoException>((resolve) => inner.once("error", resolve));
    const asked = collect(inner);
    client.write("request");
    await expect.poll(() => asked.text).toBe("request");
    leave(client);
    expect((await reset).code).toBe("ECONNRESET");
  });
}

it("resets the client's connection when the inner one breaks in the middle", async () => {
  const { connect } = await setUp();
  const { client, inner } = await connect();
  const answer = collect(client);
  inner.write("half");
  await expect.poll(() => answer.text).toBe("half");
  const broken = new Promise<NodeJS.ErrnoException>((resolve) => client.once("error", resolve));
  inner.resetAndDestroy();
  expect((await broken).code).toBe("ECONNRESET");
});

it("gives a new certificate to new connections, and keeps an open one", async () => {
  const { connect, served, write } = await setUp();
  const old = await connect();
  const answer = collect(old.client);
  old.inner.write("before ");
  write(second);
  for (let look = 0; look < 2; look += 1) await served.look();
  const fresh = await connect(second.cert);
  expect(fresh.client.authorized).toBe(true);
  old.inner.write("after");
  await expect.poll(() => answer.text).toBe("before after");
});

it.each([
  ["TLS 1.1", { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }],
  ["HTTP/2 alone", { ALPNProtocols: ["h2"] }],
] as const)("refuses a client that speaks %s", async (_, more) => {
  const { front, inner } = await setUp();
  const client = tls.connect({
    host: "127.0.0.1",
    port: front.port,
    ca: first.cert,
    ...(more as tls.ConnectionOptions),
  });
  const [error] = (await once(client, "error").catch((caught: unknown) => [caught])) as [NodeJS.ErrnoException];
  expect(error.code).toMatch(/ALERT_PROTOCOL_VERSION|ALERT_NO_APPLICATION_PROTOCOL/);
  expect(inner).toHaveLength(0);
});

it("breaks a client off while no runtime listens, and serves the next when one does", async () => {
  const { connect, connectSecurely, stop } = await setUp();
  const start = stop();
  const client = connectSecurely();
  const [error] = (await once(client, "error").catch((caught: unknown) => [caught])) as [NodeJS.ErrnoException];
  expect(error.code).toBe("ECONNRESET");
  start();
  await connect();
});

it("speaks TLS 1.2 and 1.3, and agrees on HTTP/1.1", async () => {
  const { connect } = await setUp();
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    const { client } = await connect(first.cert, { maxVersion: version, ALPNProtocols: ["h2", "http/1.1"] });
    expect({ protocol: client.getProtocol(), alpnProtocol: client.alpnProtocol }).toEqual({
      protocol: version,
      alpnProtocol: "http/1.1",
    });
  }
});

it("answers plain HTTP with what to do, without asking anybody", async () => {
  const { connectPlain, inner } = await setUp();
  const client = connectPlain();
  const answer = collect(client);
  client.write("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n{");
  await expect.poll(() => answer.ended).toBe(true);
  expect(answer.text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(JSON.parse(answer.text.split("\r\n\r\n")[1] ?? "")).toEqual({
    error: {
      message: "this port speaks HTTPS: write https:// in the address",
      type: "invalid_request_error",
      code: "https_required",
      param: null,
    },
  });
  expect(inner).toHaveLength(0);
});

it("lets go of what breaks off in the handshake, and serves the next", async () => {
  const { connectPlain, connect, inner } = await setUp();
  const hello = Buffer.from("16030100", "hex");
  for (const leave of ["end", "destroy", "resetAndDestroy"] as const) {
    for (const sent of [Buffer.alloc(0), hello]) {
      const client = connectPlain();
      await once(client, "connect");
      const closed = once(client, "close");
      client.write(sent, () => client[leave]());
      await closed;
    }
  }
  const garbage = connectPlain();
  const closed = once(garbage, "close");
  garbage.write(Buffer.concat([hello, Buffer.alloc(500, 0xff)]));
  garbage.resume();
  await closed;
  expect(inner).toHaveLength(0);
  await connect();
});
