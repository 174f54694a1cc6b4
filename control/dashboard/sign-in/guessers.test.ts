/** Who a sign-in is counted for when a listed proxy is on this machine, or could be (docs/rules/console.md#break-glass). */
import { Hono } from "hono";
import { expect, it } from "vitest";
import { trustedProxiesField } from "../../kernel/trusted-proxies.ts";
import { Guessers } from "./guessers.ts";
import type { LocalUsers } from "./local-users.ts";

const OWN_USER = 1005;
const FORWARDED = "198.51.100.7";

interface From {
  /** Who holds the connection. */
  readonly user: Awaited<ReturnType<LocalUsers["of"]>>;
  readonly peer?: string;
  readonly forwarded?: string;
  readonly frontUsers?: readonly number[] | null;
  readonly ownUser?: number;
}

async function guesser({
  user,
  peer = "127.0.0.1",
  forwarded = FORWARDED,
  frontUsers = null,
  ownUser = OWN_USER,
}: From): Promise<unknown> {
  const guessers = new Guessers({
    proxies: trustedProxiesField.parse("127.0.0.1,10.0.0.1"),
    frontUsers,
    ownUser,
    localUsers: { of: async () => user },
  });
  const app = new Hono().get("/", async (c) => c.json(await guessers.of(c)));
  const headers = forwarded === "" ? {} : { "x-forwarded-for": forwarded };
  const answer = await app.request("/", { headers }, { incoming: { socket: { remoteAddress: peer } } });
  return await answer.json();
}

const client = { name: FORWARDED, address: FORWARDED };

it.each([
  ["root", 0],
  ["the gateway's own", OWN_USER],
  ["www-data", 33],
  ["a package's", 998],
  ["a dynamic user of systemd", 61_184],
])("is the client of a front whose user is %s", async (_, user) => {
  expect(await guesser({ user })).toEqual(client);
});

it.each([1000, 1006, 60_000, 65_520, 65_534])(
  "is the user %i of this machine, whatever its header says",
  async (user) => {
    expect(await guesser({ user })).toEqual({ name: `user ${user}`, address: "127.0.0.1" });
  },
);

it("is the client of a front whose user is listed, and then of no other service's", async () => {
  const frontUsers = [1001];
  expect(await guesser({ user: 1001, frontUsers })).toEqual(client);
  expect(await guesser({ user: 0, frontUsers })).toEqual(client);
  expect(await guesser({ user: 33, frontUsers })).toEqual({ name: "user 33", address: "127.0.0.1" });
});

it.each([65_536, 100_000, 231_071])("is one of all users of namespaces, such as %i", async (user) => {
  const name = "users above 65535";
  expect(await guesser({ user })).toEqual({ name, address: "127.0.0.1" });
  expect(await guesser({ user, frontUsers: [user] })).toEqual(client);
});

it("is the gateway's own user, however high its number", async () => {
  const mine = { name: "user 200001", address: "127.0.0.1" };
  expect(await guesser({ user: 200_001, ownUser: 200_001, forwarded: "" })).toEqual(mine);
});

it.each(["unknown", "none"] as const)("is all of loopback while the user of its connection is %s", async (user) => {
  expect(await guesser({ user })).toEqual({ name: "127.0.0.1", address: "127.0.0.1" });
});

it("is the client of a front where the system tells nobody's user", async () => {
  expect(await guesser({ user: "untold" })).toEqual(client);
});

it("is the front's user for a client on this machine", async () => {
  for (const forwarded of ["127.0.0.1", "127.0.0.9"])
    expect(await guesser({ user: 33, forwarded })).toEqual({ name: "user 33", address: forwarded });
});

it("is the address of a connection from elsewhere, or of its front", async () => {
  expect(await guesser({ user: "none", peer: "203.0.113.1" })).toEqual({ name: "203.0.113.1", address: "203.0.113.1" });
  expect(await guesser({ user: "none", peer: "10.0.0.1" })).toEqual(client);
});

it("is the user of this machine who calls from a listed address that is not loopback", async () => {
  expect(await guesser({ user: 1000, peer: "10.0.0.1" })).toEqual({ name: "user 1000", address: "10.0.0.1" });
  expect(await guesser({ user: 33, peer: "::ffff:10.0.0.1" })).toEqual(client);
  expect(await guesser({ user: "unknown", peer: "10.0.0.1" })).toEqual({ name: "10.0.0.1", address: "10.0.0.1" });
});
