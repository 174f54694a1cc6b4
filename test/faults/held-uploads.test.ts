/**
 * Uploads that do not come (docs/rules/request-bodies.md#memory), on a stack of its own: a client that vanishes, falls
 * silent or sends without end takes no memory from other clients and holds nothing for good, with and without the
 * launcher's front.
 * @module-tag check
 */

import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const MIB = 1024 * 1024;
const BODY_MAX_BYTES = 32 * MIB;

let stack: Stack;
let gateway: Gateway;
let upstream: TestUpstream;
const open: Socket[] = [];
const servers: Server[] = [];

beforeAll(async () => {
  upstream = await startTestUpstream();
  stack = await startTestStack();
  gateway = new Gateway(stack);
});
afterAll(async () => {
  for (const socket of open) socket.destroy();
  for (const server of servers) server.close();
  await stack.stop();
  await upstream.close();
});

const addresses = [
  ["through the front", () => stack.proxyUrl],
  ["past it", () => stack.runtimeUrls()[0] ?? ""],
] as const;

/** A request on a connection of its own; only its start is sent. */
class Upload {
  readonly socket: Socket;
  #text = "";
  #ended = false;

  constructor(address: string, minted: Minted, path: string, headers: readonly string[], start: string) {
    const { hostname, port } = new URL(address);
    this.socket = connect(Number(port), hostname).on("error", () => undefined);
    this.socket.on("data", (chunk: Buffer) => {
      this.#text += chunk.toString();
    });
    this.socket.on("close", () => {
      this.#ended = true;
    });
    open.push(this.socket);
    const head = [`POST ${path} HTTP/1.1`, "host: gateway", `authorization: Bearer ${minted.secret}`, ...headers];
    this.socket.write(`${head.join("\r\n")}\r\n\r\n${start}`);
  }

  /** Resolves when the bytes of the start have been sent. */
  async sent(): Promise<void> {
    await waitFor(
      () => this.socket.writableLength,
      (left) => left === 0,
    );
  }

  /** Status and error code of the answer, once it has arrived. */
  async answer(withinMs?: number): Promise<readonly [status: number, code: string, headers: string]> {
    const [head = "", body = ""] = await waitFor(
      () => this.#text.split("\r\n\r\n"),
      (parts) => this.#ended || (parts[1]?.includes("}}") ?? false),
      withinMs,
    );
    return [Number(head.split(" ")[1]), /"code":"(\w+)"/.exec(body)?.[1] ?? "", head.toLowerCase()];
  }
}

const chat = "/v1/chat/completions";
const JSON_TYPE = "content-type: application/json";
const declared = (bytes: number): string => `content-length: ${bytes}`;
const part = (name: string, more: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}`;
const FORM_TYPE = "content-type: multipart/form-data; boundary=b";

/** Much less than the time that a body which does not arrive may take. */
const AT_ONCE_MS = 20_000;

/** Sends a whole chat of `bytes` bytes. */
async function large(minted: Minted, bytes: number): Promise<number> {
  const filler = "x".repeat(bytes);
  const signal = AbortSignal.timeout(AT_ONCE_MS);
  const response = await gateway.chat(minted, { signal, body: { messages: [{ role: "user", content: filler }] } });
  await response.text();
  return response.status;
}

const heldUploads = (_: string, address: () => string): void => {
  it.each(["politely", "rudely"])(
    "two connections of 200 bytes that vanish %s take no room from others",
    async (how) => {
      const [leaving, other] = [await gateway.mint(upstream.url), await gateway.mint(upstream.url)];
      const uploads = [1, 2].map(
        () => new Upload(address(), leaving, chat, [JSON_TYPE, declared(BODY_MAX_BYTES)], "x".repeat(200)),
      );
      for (const upload of uploads) {
        await upload.sent();
        if (how === "politely") upload.socket.end();
        else upload.socket.resetAndDestroy();
      }
      for (const minted of [other, leaving]) expect(await large(minted, 5 * MIB)).toBe(200);
    },
  );

  it("two open connections that sent little take no memory from any tenant", async () => {
    const [slow, other] = [await gateway.mint(upstream.url), await gateway.mint(upstream.url)];
    const start = `{"a":"${"x".repeat(2 * MIB)}`;
    for (const upload of [1, 2].map(
      () => new Upload(address(), slow, chat, [JSON_TYPE, declared(BODY_MAX_BYTES)], start),
    ))
      await upload.sent();
    expect(await large(other, 24 * MIB)).toBe(200);
    expect(await large(slow, 24 * MIB)).toBe(200);
  });
};
describe.each(addresses.slice(0, 1))("%s", heldUploads);
describe.each(addresses.slice(1))("%s", { tags: ["long"] }, heldUploads);

/** Long enough for the gateway to give up a silent body. */
const GIVEN_UP_WITHIN_MS = 60_000;

describe.concurrent("a body that falls silent", { tags: ["long"] }, () => {
  const kinds: Readonly<Record<string, (minted: Minted, address: string) => Upload>> = {
    "before its first byte": (minted, address) => new Upload(address, minted, chat, [JSON_TYPE, declared(100)], ""),
    "in its middle": (minted, address) => new Upload(address, minted, chat, [JSON_TYPE, declared(100)], '{"model'),
    "in its middle, large": (minted, address) =>
      new Upload(address, minted, chat, [JSON_TYPE, declared(BODY_MAX_BYTES)], "x".repeat(2 * MIB)),
    "of no declared length": (minted, address) =>
      new Upload(address, minted, chat, [JSON_TYPE, "transfer-encoding: chunked"], '8\r\n{"model"\r\n'),
    "of a form, before its model": (minted, address) =>
      new Upload(
        address,
        minted,
        "/v1/audio/transcriptions",
        [FORM_TYPE, declared(MIB)],
        part("file", '; filename="f"', "x"),
      ),
    "for an MCP server, of a declared length": (minted, address) =>
      new Upload(address, minted, `/mcp/${minted.model.model_name}`, [JSON_TYPE, declared(100)], "{"),
    "for an MCP server": (minted, address) =>
      new Upload(
        address,
        minted,
        `/mcp/${minted.model.model_name}`,
        [JSON_TYPE, "transfer-encoding: chunked"],
        "1\r\n{\r\n",
      ),
  };

  const everyOne = Object.entries(kinds).flatMap(([kind, begin]) =>
    addresses.map(([where, address]) => ({ name: `${kind}, ${where}`, begin, address })),
  );
  const everyOf = (answer: unknown): object => Object.fromEntries(everyOne.map(({ name }) => [name, answer]));

  it(
    "is answered 408 and leaves its row, whatever it is",
    async () => {
      const answers = everyOne.map(async ({ name, begin, address }) => {
        const minted = await gateway.mint(upstream.url);
        await gateway.must("POST", "/mcp-servers", { name: minted.model.model_name, upstream_url: upstream.url });
        const [status, code, headers] = await begin(minted, address()).answer(GIVEN_UP_WITHIN_MS);
        const row = await gateway.row(minted.tenant.id, /x-gateway-request-id: (\S+)/.exec(headers)?.[1] ?? "");
        const retry = /x-should-retry: (\S+)/.exec(headers)?.[1];
        return [name, [status, code, retry, row.status_code, row.admission, row.total_tokens]];
      });
      expect(Object.fromEntries(await Promise.all(answers))).toEqual(
        everyOf([408, "request_timeout", "false", 408, "rejected", 0]),
      );
    },
    2 * GIVEN_UP_WITHIN_MS,
  );

  it.each(addresses)(
    "while its file streams, %s, gives its slot back and ends the call to the upstream",
    async (_, address) => {
      const ended = Promise.withResolvers<boolean>();
      const server = createServer((request) => request.resume().on("close", () => ended.resolve(request.complete)));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      servers.push(server);
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
      const minted = await gateway.mint(url, "plain", { max_in_flight: 1 });
      const model = `${part("model", "", minted.model.model_name)}\r\n`;
      const start = `${model}${part("file", '; filename="f"', "x".repeat(MIB))}`;
      const upload = new Upload(address(), minted, "/v1/audio/transcriptions", [FORM_TYPE, declared(4 * MIB)], start);
      const held = async (): Promise<number> => (await gateway.loadOf(minted.model.model_name)).inFlight;
      await waitFor(held, (slots) => slots === 1);
      expect((await upload.answer(GIVEN_UP_WITHIN_MS)).slice(0, 2)).toEqual([408, "request_timeout"]);
      await waitFor(held, (slots) => slots === 0);
      // The upload is broken off, not ended; otherwise the upstream would take it for a whole form.
      expect(await ended.promise).toBe(false);
      const rows = await waitFor(
        async () => await gateway.rows(minted.tenant.id),
        (found) => found.length === 1,
      );
      expect(rows).toMatchObject([{ status_code: 408, total_tokens: 0, cost_usd: 0 }]);
    },
    2 * GIVEN_UP_WITHIN_MS,
  );
});
