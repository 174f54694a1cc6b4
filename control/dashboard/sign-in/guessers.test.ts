/** Who a sign-in is counted for when a listed proxy is on loopback (docs/rules/console.md#break-glass). */
import { Hono } from "hono";
import { expect, it } from "vitest";
import { trustedProxiesField } from "../../kernel/trusted-proxies.ts";
import { Guessers } from "./guessers.ts";

const OWN_USER = 1005;
const FORWARDED = "198.51.100.7";

interface From {
  /** The user of the connection; null: nobody knows. */
  readonly user: number | null;
  readonly peer?: string;
  readonly forwarded?: string;
  readonly frontUsers?: readonly number[] | null;
  readonly canTell?: boolean;
}

async function guesser({
  user,
  peer = "127.0.0.1",
  forwarded = FORWARDED,
  frontUsers = null,
  canTell = true,
}: From): Promise<unknown> {
  const guessers = new Guessers({
    proxies: trustedProxiesField.parse("127.0.0.1,10.0.0.1"),
    frontUsers,
    ownUser: OWN_USER,
    localUsers: { of: async () => (user === null ? null : String(user)), canTell },
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

it("is all of loopback for a connection without a user, such as one that is half closed", async () => {
  expect(await guesser({ user: null })).toEqual({ name: "127.0.0.1", address: "127.0.0.1" });
});

it("is the client of a front where the system tells nobody's user", async () => {
  expect(await guesser({ user: null, canTell: false })).toEqual(client);
});

it("is the front's user for a client on this machine", async () => {
  for (const forwarded of ["127.0.0.1", "127.0.0.9"])
    expect(await guesser({ user: 33, forwarded })).toEqual({ name: "user 33", address: forwarded });
});

it("is the address of a connection from elsewhere, or of its front", async () => {
  expect(await guesser({ user: 5000, peer: "203.0.113.1" })).toEqual({ name: "203.0.113.1", address: "203.0.113.1" });
  expect(await guesser({ user: 5000, peer: "10.0.0.1" })).toEqual(client);
});
