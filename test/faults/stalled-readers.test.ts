/**
 * Readers that take nothing of their answer (docs/rules/streams.md#stalled-readers), on a stack of its own whose limit
 * for stalled readers is two seconds: through every relay they are cut off like clients that left, and a client that
 * reads slowly is not.
 * @module-tag check
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { waitFor } from "../harness/wait-for.ts";

let stack: Stack;
let gateway: Gateway;

beforeAll(async () => {
  stack = await startTestStack({ GATEWAY_STALLED_READER_SECS: "2" });
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await stack.stop();
});

const event = (letters: number): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "x".repeat(letters) } }] })}\n\n`;
const SMALL = event(4);
/** More than the sockets on the way can hold is sent within a few seconds. */
const LARGE = Buffer.from(event(512 * 1024));
const LETTERS = Buffer.alloc(512 * 1024, "x");

interface Upstream {
  readonly url: string;
  /** How many answers' connections the gateway has closed. */
  readonly closed: () => number;
}

/**
 * Sends a start and then pieces without end, as fast as they are read except for a pause; the pace decides which relay the
 * gateway uses.
 */
async function endless(contentType: string, start: string, piece: Buffer, paceMs: number): Promise<Upstream> {
  let closed = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new Promise<void>((resolve) => response.once("close", resolve));
    void gone.then(() => {
      closed += 1;
    });
    for await (const _ of request);
    response.writeHead(200, { "content-type": contentType }).write(start);
    while (!response.destroyed) {
      const taken = response.write(piece);
      if (!taken) await Promise.race([gone, new Promise((resolve) => response.once("drain", resolve))]);
      await pause(paceMs);
    }
  };
  return {
    url: await listening(createServer((request, response) => void answer(request, response))),
    closed: () => closed,
  };
}

/** The address of a server, which answers until the test ends. */
async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** A client on a connection of its own; the test decides when it reads. */
function openClient(address: string, minted: Minted, more: object): Socket {
  const { hostname, port } = new URL(address);
  const body = JSON.stringify({ model: minted.model.model_name, messages: [], max_tokens: 1, ...more });
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  const head = [
    "POST /v1/chat/completions HTTP/1.1",
    "host: gateway",
    `authorization: Bearer ${minted.secret}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  return socket;
}

/** Resolves when `slots` requests of a tenant's model hold a slot. */
async function holding(minted: Minted, slots: number): Promise<void> {
  await waitFor(
    async () => (await gateway.loadOf(minted.model.model_name)).inFlight,
    (held) => held === slots,
  );
}

const asked = { stream: true, stream_options: { include_usage: true } };
const PACE_MS = 10;
const CHOICES = '{"choices":[{"message":{"content":"';

type Relay = readonly [string, Parameters<typeof endless>, object];
const PUMPED: Relay = ["pumped, its usage withheld", ["text/event-stream", SMALL, LARGE, PACE_MS], { stream: true }];
const GATHERED: Relay = ["gathered", ["text/event-stream", SMALL, LARGE, 0], asked];
const PIPED: Relay = ["piped natively", ["text/event-stream", SMALL, LARGE, PACE_MS], asked];
const WHOLE: Relay = ["whole", ["application/json", CHOICES, LETTERS, PACE_MS], {}];
const relays = [PUMPED, GATHERED, PIPED, WHOLE];

const readers = (address: () => string, of: typeof relays): void => {
  it.each(of)("of an answer that is %s is cut off", async (_relay, answer, more) => {
    const upstream = await endless(...answer);
    const minted = await gateway.mint(upstream.url, "plain", { max_in_flight: 1 });
    const socket = openClient(address(), minted, more);
    await holding(minted, 1);
    const rows = await waitFor(
      async () => await gateway.rows(minted.tenant.id),
      (found) => found.length === 1,
    );
    expect(rows).toMatchObject([{ status_code: 499, admission: "fast", upstream_status: 200 }]);
    // Counted is what the gateway has seen: hundreds of kilobytes.
    expect(rows[0]?.output_tokens).toBeGreaterThan(100_000);
    await holding(minted, 0);
    await waitFor(upstream.closed, (closed) => closed === 1);
    // Its connection is of no more use; it ends when the client reads from it.
    const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.resume();
    await ended;
  });
};
describe("a reader that takes nothing, through the front", () => {
  readers(() => stack.proxyUrl, [PUMPED]);
  describe("also", { tags: ["long"] }, () => readers(() => stack.proxyUrl, [GATHERED, PIPED, WHOLE]));
});
describe("a reader that takes nothing, past it", { tags: ["long"] }, () => {
  readers(() => stack.runtimeUrls()[0] ?? "", relays);
});

/**
 * A client that reads a limited amount, pauses, and repeats this for several times the gateway's limit for stalled readers.
 */
const TAKE_BYTES = 1024 * 1024;
const PAUSE_MS = 50;
const TAKES = 120;
const PATIENT_MS = 90_000;
const BEAT_MS = 300;
const BEATS = 20;

describe("a reader that takes a little at a time", () => {
  const leftAlone = async (...[_relay, answer, more]: Relay): Promise<void> => {
    const upstream = await endless(...answer);
    const minted = await gateway.mint(upstream.url, "plain", { max_in_flight: 1 });
    const socket = openClient(stack.proxyUrl, minted, more);
    let read = 0;
    let takes = 0;
    // The client never reads as much as arrives.
    socket.on("data", (chunk: Buffer) => {
      read += chunk.byteLength;
      if (read < TAKE_BYTES * (takes + 1)) return;
      takes += 1;
      socket.pause();
      setTimeout(() => socket.resume(), PAUSE_MS);
    });
    await waitFor(
      () => takes,
      (count) => count >= TAKES,
      PATIENT_MS,
    );
    await holding(minted, 1);
    expect({ closed: upstream.closed(), destroyed: socket.destroyed }).toEqual({ closed: 0, destroyed: false });
    expect(await gateway.rows(minted.tenant.id)).toEqual([]);
  };
  it.each([PUMPED])("of an answer that is %s is left alone", leftAlone);
  it.each([GATHERED, PIPED, WHOLE])("of an answer that is %s is left alone", { tags: ["long"] }, leftAlone);

  it.each([
    ["pumped", { stream: true }],
    ["piped natively", asked],
  ])("of a stream that is %s and has little to send is not disconnected", { tags: ["long"] }, async (_relay, more) => {
    const url = await listening(
      createServer((request, response) => {
        request.resume().on("end", () => {
          response.writeHead(200, { "content-type": "text/event-stream" }).write(SMALL);
          // A single byte is indistinguishable from the byte that the gateway's own check reads.
          const beating = setInterval(() => response.write("\n"), BEAT_MS);
          response.on("close", () => clearInterval(beating));
        });
      }),
    );
    const minted = await gateway.mint(url);
    let text = "";
    openClient(stack.proxyUrl, minted, more).on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    await waitFor(
      () => text.slice(-300),
      () => (text.match(/^1\r$/gm)?.length ?? 0) >= BEATS,
      PATIENT_MS,
    );
    await holding(minted, 1);
  });
});
