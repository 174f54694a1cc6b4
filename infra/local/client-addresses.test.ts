import { createServer } from "node:http";
import { afterEach, expect, it } from "vitest";
import { ClientAddresses } from "./client-addresses.ts";
import { startFrontProxy } from "./front.ts";
import { listen } from "./http/listen.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** The log of a refused request that came through a front; `peer` is the address that the runtime sees. */
async function told(proxies: string, forwarded?: string): Promise<unknown> {
  const clients = new ClientAddresses({ GATEWAY_TRUSTED_PROXIES: proxies });
  const line = { level: 30, event: "request", status: 401, key_prefix: "sk_0123" };
  const runtime = await listen(
    createServer(({ socket, headers }, response) => {
      const peer = `${socket.remoteAddress}:${socket.remotePort}`;
      const header = headers["x-forwarded-for"];
      response.end(clients.told(JSON.stringify({ ...line, peer, forwarded_for: header })));
    }),
    "127.0.0.1",
    0,
  );
  const target = { host: "127.0.0.1", port: Number(new URL(runtime.url).port) };
  const front = await startFrontProxy(
    "127.0.0.1",
    0,
    () => [target],
    null,
    undefined,
    (client, inner) => clients.carried(client, inner),
  );
  cleanups.push(
    async () => await runtime.close(),
    async () => await front.close(),
  );
  const answer = await fetch(front.url, { headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded } });
  const { address, ...rest } = (await answer.json()) as Record<string, unknown>;
  expect(rest).toEqual(line);
  return address;
}

it("names the client at the other end of the front's connection", async () => {
  expect(await told("")).toBe("127.0.0.1");
});

it("believes the header of a listed proxy only", async () => {
  expect(await told("", "203.0.113.7")).toBe("127.0.0.1");
  expect(await told("127.0.0.1", "198.51.100.1, 203.0.113.7")).toBe("203.0.113.7");
});

it("says that a connection is unknown, and leaves every other line as it is", () => {
  const clients = new ClientAddresses({});
  expect(clients.told('{"level":40,"event":"auth_failed","peer":"127.0.0.1:1"}')).toBe(
    '{"level":40,"event":"auth_failed","address":"unknown"}',
  );
  for (const line of ['{"level":30,"model":"\\"peer\\":\\"x"}', 'text "peer":"x"'])
    expect(clients.told(line)).toBe(line);
});

it("refuses a list of proxies that it cannot read, by the variable's name", () => {
  expect(() => new ClientAddresses({ GATEWAY_TRUSTED_PROXIES: "everybody" })).toThrow(
    /^GATEWAY_TRUSTED_PROXIES must be addresses and CIDRs/,
  );
});
