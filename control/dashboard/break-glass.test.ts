/**
 * The admin whom the environment names, and who guesses the password (docs/rules/console.md#break-glass).
 *
 * @module-tag check
 */
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { serve } from "@hono/node-server";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { User } from "../../shared/schema/user.ts";
import { ADMIN, startConsole, type TestConsole } from "../../test/harness/console.ts";
import type { ConsoleBrowser } from "../../test/harness/console-browser.ts";
import { users } from "../db/schema/users.ts";

let testing: TestConsole;

beforeAll(async () => {
  testing = await startConsole({ GATEWAY_TRUSTED_PROXIES: "10.0.0.0/8,127.0.0.1" });
});
afterAll(async () => {
  await testing.close();
});
beforeEach(async () => {
  await testing.reset();
});

async function userOf(browser: ConsoleBrowser) {
  const { user } = (await (await browser.get("/api/session")).json()) as { user: Partial<User> | null };
  return user;
}
const codeOf = async (response: Response) => ((await response.json()) as { error: { code: string } }).error.code;
const why = (response: Response) => [response.status, response.headers.get("location")];
const rows = async () => await testing.control.connection.db.select().from(users);

/** The connection of a listed proxy, which is on another machine. */
const FRONT = { remoteAddress: "10.0.0.1", remotePort: 1, localAddress: "10.0.0.2", localPort: 2 };

/** Signs in through a listed proxy, which says from where; answers the status. */
async function signInFrom(address: string, password = ADMIN.password, more: RequestInit = {}): Promise<number> {
  const { status } = await testing.app.request(
    "http://localhost/auth/local",
    {
      method: "POST",
      headers: { origin: "http://localhost", "x-forwarded-for": address },
      body: JSON.stringify({ ...ADMIN, password }),
      ...more,
    },
    { incoming: { socket: FRONT } },
  );
  return status;
}

/** Signs in over a connection of this user of the machine; answers the status. */
async function signInAs(user: number, port: number, credentials: object, headers = ""): Promise<number> {
  const body = JSON.stringify(credentials);
  process.seteuid?.(user); // a socket belongs to the user of the process when it is created
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect").finally(() => process.seteuid?.(0));
  const origin = `http://127.0.0.1:${port}`;
  socket.write(
    `POST /auth/local HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\norigin: ${origin}\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`,
  );
  const [answer] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return Number(/^HTTP\/1.1 (\d{3})/.exec(answer.toString())?.[1]);
}

describe("behind a proxy", () => {
  it("failures are counted by who came through it, who cannot pass for another", async () => {
    const statuses: unknown[] = [];
    for (let at = 0; at < 20; at += 1)
      statuses.push(await signInFrom(`198.51.100.${at}, 203.0.113.9`, "wrong-password"));
    expect(statuses).toContain(429);
    expect(await signInFrom("203.0.113.9")).toBe(429);
    expect(await signInFrom("203.0.113.10")).toBe(200);
  });
});

describe("the break-glass admin", () => {
  it("signs in with a session of 12 hours, in a cookie that no script reads", async () => {
    const browser = testing.browser();
    expect(await userOf(browser)).toBeNull();
    const answer = await browser.send("POST", "/auth/local", { ...ADMIN, email: " ADMIN@example.org " });
    expect(answer.status).toBe(200);
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^gateway_session=[^;]+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/),
      expect.stringMatching(
        /^gateway_known_browser=[^;]+; Max-Age=34560000; Path=\/auth\/local; HttpOnly; SameSite=Lax$/,
      ),
    ]);
    expect(await userOf(browser)).toMatchObject({ email: "admin@example.org", role: "admin", provider: "local" });
    expect((await browser.get("/api/live/tenants")).status).toBe(200);
    testing.aheadMs = 12 * 3_600_000 + 1;
    expect(await userOf(browser)).toBeNull();
    expect((await browser.get("/api/live/tenants")).status).toBe(401);
  });

  it("is one row, however often, which neither another identity nor an admin changes", async () => {
    await testing.admin();
    const admin = await testing.admin();
    const [row] = await rows();
    expect(await rows()).toHaveLength(1);
    for (const answer of [
      await admin.send("PATCH", `/api/live/users/${row?.id}`, { status: "disabled" }),
      await admin.send("DELETE", `/api/live/users/${row?.id}`),
    ])
      expect({ status: answer.status, code: await codeOf(answer) }).toEqual({ status: 400, code: "validation_failed" });
    testing.provider.claims = { sub: "x", email_verified: true, email: "ADMIN@example.org" };
    expect(why(await testing.signIn(testing.browser()))).toEqual([302, "/sign-in?error=email_taken"]);
  });

  it("gets in though another identity has the email, under a label of its own", async () => {
    const { db } = testing.control.connection;
    const taken = {
      email: "admin@example.org",
      name: "x",
      provider: "corp",
      subject: "x",
      role: "user",
      status: "active",
    };
    await db.insert(users).values(taken as typeof users.$inferInsert);
    expect(await userOf(await testing.admin())).toMatchObject({ email: "local:admin@example.org", role: "admin" });
  });

  it.each([
    ["email", { ...ADMIN, email: "other@example.org" }],
    ["password", { ...ADMIN, password: "correct horse " }],
  ])("is refused with a wrong %s, and the address tries once in 30 s after five", async (_, wrong) => {
    const browser = testing.browser();
    for (let nth = 0; nth < 5; nth += 1) {
      const answer = await browser.send("POST", "/auth/local", wrong);
      expect({ status: answer.status, code: await codeOf(answer) }).toEqual({ status: 401, code: "sign_in_failed" });
    }
    const locked = await browser.send("POST", "/auth/local", ADMIN);
    expect({ status: locked.status, code: await codeOf(locked) }).toEqual({ status: 429, code: "too_many_sign_ins" });
    expect(Number(locked.headers.get("retry-after"))).toBeLessThanOrEqual(30);
    testing.aheadMs = 30_001;
    expect((await browser.send("POST", "/auth/local", wrong)).status).toBe(401);
    expect((await browser.send("POST", "/auth/local", ADMIN)).status).toBe(429);
    testing.aheadMs = 60_002;
    expect((await browser.send("POST", "/auth/local", ADMIN)).status).toBe(200);
  });

  it("slows every address that fails after five failures of several, and keeps no other out", {
    tags: ["check"],
  }, async () => {
    for (let nth = 1; nth <= 5; nth += 1) expect(await signInFrom(`203.0.113.${nth}`, "wrong-password")).toBe(401);
    expect(await signInFrom("203.0.113.1")).toBe(429);
    expect(await signInFrom("203.0.113.6", "wrong-password")).toBe(401);
    expect(await signInFrom("203.0.113.6")).toBe(429);
    expect(await signInFrom("203.0.113.7")).toBe(200);
    testing.aheadMs = 30_001;
    expect(await signInFrom("203.0.113.6")).toBe(200);
  });

  it("is guessed from all of loopback as from one address", async () => {
    for (let nth = 1; nth <= 5; nth += 1) expect(await signInFrom(`127.0.${nth}.1`, "wrong-password")).toBe(401);
    expect({ another: await signInFrom("127.9.9.9"), mapped: await signInFrom("::ffff:127.0.0.1") }).toEqual({
      another: 429,
      mapped: 429,
    });
  });

  it("signs in at once in a browser that has signed in before, whatever others of its address do", {
    tags: ["check"],
  }, async () => {
    const [browser, other] = [await testing.admin(), testing.browser()];
    await browser.send("POST", "/auth/sign-out");
    for (let nth = 0; nth < 8; nth += 1) await other.send("POST", "/auth/local", { ...ADMIN, password: "wrong" });
    expect({
      other: (await other.send("POST", "/auth/local", ADMIN)).status,
      known: (await browser.send("POST", "/auth/local", ADMIN)).status,
    }).toEqual({ other: 429, known: 200 });
  });

  it("is guessed no faster with the cookie of such a browser, nor with a forged one", async () => {
    const browser = await testing.admin();
    const guesses = async (): Promise<number[]> => {
      const statuses: number[] = [];
      for (let nth = 0; nth < 7; nth += 1)
        statuses.push((await browser.send("POST", "/auth/local", { ...ADMIN, password: "wrong" })).status);
      return statuses;
    };
    expect(await guesses()).toEqual([401, 401, 401, 401, 401, 429, 429]);
    const session = /gateway_session=([^;]+)/.exec(browser.cookies)?.[1] ?? "";
    testing.renew();
    const forged = testing.browser();
    for (let nth = 0; nth < 6; nth += 1) {
      forged.cookies = `gateway_known_browser=${nth % 2 === 0 ? session : `x${nth}.${"A".repeat(43)}%3D`}`;
      await forged.send("POST", "/auth/local", { ...ADMIN, password: "wrong" });
    }
    expect((await forged.send("POST", "/auth/local", ADMIN)).status).toBe(429);
  });

  describe.runIf(process.getuid?.() === 0)("on a machine that has other users", () => {
    let port = 0;
    const wrong = { ...ADMIN, password: "wrong" };
    const from = (nth: number) => `x-forwarded-for: 198.51.100.${nth}\r\n`;

    beforeEach(async () => {
      const server = serve({ fetch: testing.app.fetch, hostname: "127.0.0.1", port: 0 });
      await once(server, "listening");
      port = (server.address() as AddressInfo).port;
      onTestFinished(() => void server.close());
    });

    it("is kept out by none of them", async () => {
      for (let nth = 0; nth < 6; nth += 1) await signInAs(65_534, port, wrong);
      expect({ other: await signInAs(65_534, port, ADMIN), admin: await signInAs(0, port, ADMIN) }).toEqual({
        other: 429,
        admin: 200,
      });
    });

    it("is guessed by none of them as the users of a namespace of their own", async () => {
      const statuses: number[] = [];
      for (let nth = 0; nth < 7; nth += 1) statuses.push(await signInAs(100_000 + nth, port, wrong));
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    });

    it("is guessed by none of them as made-up clients of a front, which serves on", async () => {
      const forged: number[] = [];
      for (let nth = 0; nth < 7; nth += 1) forged.push(await signInAs(2000, port, wrong, from(nth)));
      expect(forged).toEqual([401, 401, 401, 401, 401, 429, 429]);
      for (let nth = 10; nth < 17; nth += 1) expect(await signInAs(33, port, wrong, from(nth))).toBe(401);
      expect({
        client: await signInAs(33, port, ADMIN, from(17)),
        failed: await signInAs(33, port, ADMIN, from(16)),
      }).toEqual({ client: 200, failed: 429 });
    });
  });

  it("has one line in the log for the guesses of a second, with how many there were", async () => {
    testing.aheadMs = 10_000;
    const from = testing.logged.length;
    for (let nth = 1; nth <= 4; nth += 1) await signInFrom(`203.0.113.${nth}`, "wrong-password");
    testing.aheadMs = 12_000;
    await signInFrom("203.0.113.5", "wrong-password");
    expect(testing.logged.slice(from).filter((line) => line.includes("sign_in_failed"))).toHaveLength(2);
  });

  it("is not guessed by many requests at once", async () => {
    const guesses = Array.from({ length: 20 }, async (_, nth) =>
      testing.browser().send("POST", "/auth/local", { ...ADMIN, password: nth === 19 ? ADMIN.password : "x" }),
    );
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toEqual([]);
  });

  it("is guessed by the networks of one customer no more often at once than one after another", async () => {
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async (_, nth) => await signInFrom(`2001:db8:0:${nth}::1`, "wrong-password")),
    );
    expect([401, 429].map((status) => statuses.filter((each) => each === status).length)).toEqual([50, 10]);
  });

  it("is not checked if it was left", async () => {
    const signal = AbortSignal.abort();
    for (let nth = 0; nth < 6; nth += 1) await signInFrom("203.0.113.1", "wrong-password", { signal });
    expect(await signInFrom("203.0.113.1")).toBe(200);
  });

  it("waits for five bodies of a guesser, for 512 of all, and for none longer than 15 s", {
    tags: ["check"],
  }, async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const late = async (address: string) =>
      await signInFrom(address, "", { body: new ReadableStream(), duplex: "half" });
    const open = Array.from({ length: 5 }, async () => await late("203.0.113.1"));
    expect({ sixth: await late("203.0.113.1"), other: await signInFrom("203.0.113.2") }).toEqual({
      sixth: 429,
      other: 200,
    });
    for (let nth = 5; nth < 512; nth += 1) open.push(late(`198.51.${nth >> 8}.${nth & 255}`));
    expect({ next: await signInFrom("203.0.113.2"), oldest: await open[0] }).toEqual({ next: 200, oldest: 408 });
    vi.advanceTimersByTime(15_000);
    expect(new Set(await Promise.all(open))).toEqual(new Set([408]));
  });

  it.each([
    ["no JSON", "{", 400],
    ["another shape", { email: 1, password: null }, 400],
    ["a large body", { ...ADMIN, more: "x".repeat(20_000) }, 413],
  ])("is refused with %s", async (_, body, status) => {
    expect((await testing.browser().send("POST", "/auth/local", body)).status).toBe(status);
  });
});

describe("sign-ins at a provider", () => {
  it("wait for it 32 at a time of one address, and the next one fails at once", async () => {
    const held = Promise.withResolvers<void>();
    testing.provider.held = held.promise;
    const asking = Array.from({ length: 33 }, async () => why(await testing.signIn(testing.browser())));
    const refused = await Promise.race(asking);
    held.resolve();
    const ends = await Promise.all(asking);
    expect({ refused, others: ends.filter(([, to]) => to === "/").length }).toEqual({
      refused: [302, "/sign-in?error=sign_in_failed"],
      others: 32,
    });
    expect(why(await testing.signIn(testing.browser()))).toEqual([302, "/"]);
  });
});
