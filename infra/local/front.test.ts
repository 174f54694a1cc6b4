/** @module-tag check */
import { once } from "node:events";
import net from "node:net";
import { afterEach, expect, it } from "vitest";
import { type FrontProxy, startFrontProxy } from "./front.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** An inner server that the test controls, and a front before it. */
async function setUp(begun?: () => Promise<void>) {
  const sockets: net.Socket[] = [];
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    sockets.push(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  const front: FrontProxy = await startFrontProxy("127.0.0.1", 0, () => [{ host: "127.0.0.1", port }], null, begun);
  cleanups.push(
    () => server.close(),
    () => front.close(),
    () => {
      for (const socket of sockets) socket.destroy();
    },
  );
  const connect = async () => {
    const client = net.connect({ port: front.port, host: "127.0.0.1", allowHalfOpen: true });
    client.on("error", () => undefined);
    cleanups.push(() => client.destroy());
    const count = sockets.length;
    await once(client, "connect");
    await expect.poll(() => sockets.length).toBe(count + 1);
    return { client, inner: sockets.at(-1) as net.Socket };
  };
  return { connect, front, server };
}

const collect = (socket: net.Socket) => {
  const got = { text: "", bytes: 0, ended: false };
  socket.on("data", (chunk) => {
    got.bytes += chunk.length;
    if (got.text.length < 1000) got.text += chunk.toString();
  });
  socket.on("end", () => (got.ended = true));
  return got;
};

it("carries bytes both ways, several exchanges on one connection", async () => {
  const { connect } = await setUp();
  const { client, inner } = await connect();
  const answer = collect(client);
  const asked = collect(inner);
  for (let round = 1; round <= 3; round += 1) {
    client.write("ping ");
    await expect.poll(() => asked.text).toBe("ping ".repeat(round));
    inner.write("pong ");
    await expect.poll(() => answer.text).toBe("pong ".repeat(round));
  }
  expect(inner.destroyed).toBe(false);
});

for (const [how, leave] of [
  ["ends politely", (client: net.Socket) => client.end()],
  ["closes", (client: net.Socket) => client.destroy()],
  ["resets", (client: net.Socket) => client.resetAndDestroy()],
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

it.each(["end", "destroy", "resetAndDestroy"] as const)(
  "keeps an unanswered request until it has begun, when the client leaves by %s",
  async (how) => {
    const [asked, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { connect } = await setUp(async () => {
      asked.resolve();
      await begun.promise;
    });
    const { client, inner } = await connect();
    const got = collect(inner);
    const reset = new Promise<NodeJS.ErrnoException>((resolve) => inner.once("error", resolve));
    client.write("request", () => client[how]());
    await Promise.race([asked.promise, reset]);
    expect(inner.errored).toBe(null);
    await expect.poll(() => got.text).toBe("request");
    begun.resolve();
    expect((await reset).code).toBe("ECONNRESET");
  },
);

it("resets at once when the request was answered, or nothing was sent", async () => {
  const { connect } = await setUp(async () => await Promise.reject(new Error("nothing was left to begin")));
  const { client, inner } = await connect();
  const answer = collect(client);
  client.write("request");
  await once(inner, "data");
  inner.write("answer");
  await expect.poll(() => answer.text).toBe("answer");
  const silent = await connect();
  for (const [leaving, left] of [
    [client, inner],
    [silent.client, silent.inner],
  ] as const) {
    const reset = new Promise<NodeJS.ErrnoException>((resolve) => left.once("error", resolve));
    leaving.end();
    expect((await reset).code).toBe("ECONNRESET");
  }
});

it("gives the client the whole answer when the inner server ends after it", async () => {
  const { connect } = await setUp();
  const { client, inner } = await connect();
  const answer = collect(client);
  const size = 20_000_000;
  inner.end(Buffer.alloc(size, "x"));
  await expect.poll(() => answer.ended, { timeout: 20_000 }).toBe(true);
  expect(answer.bytes).toBe(size);
});

it("gives the client an answer that comes while it still sends", async () => {
  const { connect } = await setUp();
  const { client, inner } = await connect();
  const answer = collect(client);
  client.write(Buffer.alloc(5_000_000));
  await once(inner, "readable");
  inner.end("413");
  await expect.poll(() => [answer.text, answer.ended]).toEqual(["413", true]);
  expect(client.destroyed).toBe(false);
});

it("resets the client when the inner connection breaks in the middle", async () => {
  const { connect } = await setUp();
  const { client, inner } = await connect();
  const answer = collect(client);
  inner.write("half");
  await expect.poll(() => answer.text).toBe("half");
  const broken = new Promise<NodeJS.ErrnoException>((resolve) => client.once("error", resolve));
  inner.resetAndDestroy();
  expect((await broken).code).toBe("ECONNRESET");
});

it("holds back a fast sender until a slow reader reads", async () => {
  const { connect } = await setUp();
  const { client, inner } = await connect();
  const size = 50_000_000;
  const sent = inner.write(Buffer.alloc(size, "x"));
  expect(sent).toBe(false);
  let drained = false;
  inner.once("drain", () => (drained = true));
  client.pause();
  await expect.poll(() => inner.writableLength).toBe(size); // The buffers of the operating system are full, and nothing more is sent.
  expect(drained).toBe(false);
  const answer = collect(client);
  client.resume();
  await expect.poll(() => answer.bytes, { timeout: 20_000 }).toBe(size);
  expect(drained).toBe(true);
});

it("resets a client at once while no runtime listens", async () => {
  const front = await startFrontProxy("127.0.0.1", 0, () => []);
  cleanups.push(() => front.close());
  const client = net.connect(front.port, "127.0.0.1");
  const [error] = (await once(client, "error").catch((caught: unknown) => [caught])) as [NodeJS.ErrnoException];
  expect(error.code).toBe("ECONNRESET");
});

/** How a connection to a port is refused; null: it is not. */
async function refusalOf(port: number): Promise<string | undefined | null> {
  const client = net.connect(port, "127.0.0.1");
  const [error] = (await Promise.race([once(client, "error"), once(client, "connect").then(() => [])])) as [
    NodeJS.ErrnoException?,
  ];
  client.destroy();
  return error === undefined ? null : error.code;
}

it("takes all that have connected before it drains", async () => {
  const { front, server } = await setUp();
  server.on("connection", (socket) => socket.once("data", () => socket.end("answer")));
  const clients = Array.from({ length: 20 }, () => net.connect(front.port, "127.0.0.1"));
  const broken: string[] = [];
  for (const client of clients) client.on("error", ({ message }) => broken.push(message));
  const answers = clients.map(collect);
  await Promise.all(clients.map(async (client) => await once(client, "connect")));
  const drained = front.drain();
  for (const client of clients) client.write("request");
  await drained;
  await expect.poll(() => answers.filter(({ ended }) => ended).length + broken.length).toBe(clients.length);
  expect(broken).toEqual([]);
});

it("takes no new connection while it drains, and keeps the open ones", async () => {
  const { connect, front } = await setUp();
  const { client, inner } = await connect();
  client.write("a request");
  await front.drain();
  expect(await refusalOf(front.port)).toBe("ECONNREFUSED");
  const answer = collect(client);
  let isQuiet = false;
  const quiet = front.quiet().then(() => (isQuiet = true));
  inner.write("last ");
  await expect.poll(() => answer.text).toBe("last ");
  expect(isQuiet).toBe(false);
  inner.end("words");
  await expect.poll(() => answer.text).toBe("last words");
  client.end();
  await quiet;
});

it("has drained only when what a client that connected before sends has arrived", async () => {
  const { connect, front } = await setUp();
  const { client, inner } = await connect();
  const asked = collect(inner);
  let isDrained = false;
  const drained = front.drain().then(() => (isDrained = true));
  await expect.poll(async () => await refusalOf(front.port)).toBe("ECONNREFUSED");
  expect(isDrained).toBe(false);
  client.write("a request");
  await drained;
  await expect.poll(() => asked.text).toBe("a request");
});

it("sends each connection to the process with the fewest open, taking turns among equals", {
  tags: ["check"],
}, async () => {
  const accepted = [0, 1, 2].map((): net.Socket[] => []);
  const targets = await Promise.all(
    accepted.map(async (sockets) => {
      const server = net.createServer((socket) => {
        socket.on("error", () => undefined);
        sockets.push(socket);
      });
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      cleanups.push(() => server.close());
      return { host: "127.0.0.1", port: (server.address() as net.AddressInfo).port };
    }),
  );
  let living = targets;
  const front = await startFrontProxy("127.0.0.1", 0, () => living);
  cleanups.push(() => front.close());
  const counts = (): readonly number[] => accepted.map((sockets) => sockets.filter(({ closed }) => !closed).length);
  const connect = async (): Promise<net.Socket> => {
    const before = accepted.flat().length;
    const client = net.connect(front.port, "127.0.0.1");
    client.on("error", () => undefined);
    cleanups.push(() => client.destroy());
    await expect.poll(() => accepted.flat().length).toBe(before + 1);
    return client;
  };
  for (let at = 0; at < 6; at += 1) await connect();
  expect(counts()).toEqual([2, 2, 2]);
  // The connections are closed when the front has released them.
  for (const socket of accepted[1] ?? []) socket.end();
  await expect.poll(counts).toEqual([2, 0, 2]);
  await connect();
  await connect();
  expect(counts()).toEqual([2, 2, 2]);
  living = targets.slice(0, 1);
  await connect();
  expect(counts()).toEqual([3, 2, 2]);
});
