/**
 * Calls through the console's server at the same time (docs/rules/console.md#relay): bounded, and given back however one ends.
 *
 * @module-tag check
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ConsolePerson } from "../users/person.ts";
import { ConsoleKeys } from "./console-keys.ts";
import { OpenCalls, shareOf } from "./open-calls.ts";
import { Relay } from "./relay.ts";

const PERSON_MAX = 32;
const ALL_MAX = 512;
const TENANT_MAX = 96;
const ADMINS_ONLY = 64;
const CHAT = "/v1/chat/completions";
const ABSENT = "00000000-0000-4000-8000-00000000dead";
const tooMany = { code: "too_many_calls", status: 429, headers: { "retry-after": "1" } };

let relay: Relay;
let answerWith: (response: ServerResponse) => void;
const dataPlane = createServer((incoming, response) => {
  incoming.on("error", () => undefined);
  incoming.resume();
  answerWith(response);
});

beforeAll(async () => {
  await new Promise<void>((resolve) => dataPlane.listen(0, "127.0.0.1", resolve));
  const { port } = dataPlane.address() as AddressInfo;
  const keys = new ConsoleKeys({
    adminToken: "",
    management: async () => new Response(null, { status: 404 }),
    nowMs: Date.now,
  });
  const log = pino({ level: "silent" });
  relay = new Relay({ baseUrl: `http://127.0.0.1:${port}`, open: new OpenCalls(), keys, log });
});
afterAll(() => {
  dataPlane.closeAllConnections();
  dataPlane.close();
});

const KEY = { authorization: "Bearer pasted" };
const ask = async (more: RequestInit = {}, path = CHAT, userId = "ann", tenantId: string | null = null) =>
  await relay.answer(new Request("http://console.test/", { method: "POST", body: "{}", headers: KEY, ...more }), path, {
    user: { id: userId, email: "ann@example.org", role: "user", tenant_id: ABSENT } as ConsolePerson,
    tenantId,
    address: null,
  });
const whole = (response: ServerResponse): void => void response.writeHead(200).end("whole");
const begun = (response: ServerResponse): void => void response.writeHead(200).write("begun");
const refused = async (call: Promise<Response>): Promise<unknown> => await call.catch((error: unknown) => error);

/** Each makes one call and ends it. */
const WAYS: Readonly<Record<string, () => Promise<void>>> = {
  "read to its end": async () => {
    answerWith = whole;
    expect(await (await ask()).text()).toBe("whole");
  },
  "without a body": async () => {
    answerWith = (response) => void response.writeHead(204).end();
    expect((await ask()).status).toBe(204);
  },
  "cancelled while it is read": async () => {
    answerWith = begun;
    const reader = (await ask()).body?.getReader();
    await reader?.read();
    await reader?.cancel();
  },
  "broken off": async () => {
    answerWith = (response) => void response.writeHead(200).write("begun", () => response.destroy());
    await expect((await ask()).text()).rejects.toThrow("the answer broke off");
  },
  redirected: async () => {
    answerWith = (response) => void response.writeHead(307, { location: "http://127.0.0.1:9/" }).end("moved");
    expect(await refused(ask())).toMatchObject({ code: "data_plane_unavailable" });
  },
  "not answered": async () => {
    answerWith = (response) => void response.destroy();
    expect(await refused(ask())).toMatchObject({ code: "data_plane_unavailable" });
  },
  "too large": async () => {
    const headers = { ...KEY, "content-length": String(40 * 1024 * 1024) };
    expect(await refused(ask({ headers }))).toMatchObject({ code: "request_too_large" });
  },
  "of another path": async () => {
    expect(await refused(ask({}, "/v1/embeddings"))).toMatchObject({ code: "not_found" });
  },
  "without a key, of a tenant that is gone": async () => {
    expect(await refused(ask({ headers: {} }, CHAT, "ann", ABSENT))).toMatchObject({ code: "not_found" });
  },
  "left before the answer": async () => {
    const leaving = new AbortController();
    answerWith = () => leaving.abort();
    expect((await ask({ signal: leaving.signal })).status).toBe(499);
  },
  "left before the answer was read": async () => {
    const leaving = new AbortController();
    answerWith = begun;
    await ask({ signal: leaving.signal });
    leaving.abort();
  },
};

it.each(Object.keys(WAYS))("a call is given back that is %s, once", async (way) => {
  for (let nth = 0; nth <= PERSON_MAX; nth += 1) await WAYS[way]?.();
  const leaving = new AbortController();
  answerWith = begun;
  for (let nth = 0; nth < PERSON_MAX; nth += 1) await ask({ signal: leaving.signal });
  expect(await refused(ask())).toMatchObject(tooMany);
  answerWith = whole;
  expect(await (await ask({}, CHAT, "bob")).text()).toBe("whole");
  leaving.abort();
  expect(await (await ask()).text()).toBe("whole");
});

it("counts a person's calls and those of all, and gives one back once however often it is over", () => {
  const calls = new OpenCalls();
  const begin = (person: string) => calls.begin(person, null);
  const over = Array.from({ length: ALL_MAX }, (_, nth) => begin(`person-${nth % (ALL_MAX / PERSON_MAX)}`));
  for (const person of ["person-0", "another"]) expect(() => begin(person)).toThrow("too many calls");
  for (let nth = 0; nth < 3; nth += 1) over[0]?.();
  over.push(begin("another"));
  expect(() => begin("another")).toThrow("too many calls");
  for (const end of over) end();
  for (let nth = 0; nth < PERSON_MAX; nth += 1) begin("person-0");
  expect(() => begin("person-0")).toThrow("too many calls");
});

describe("calls that people never end", () => {
  /** The calls that so many people of a share get. */
  const taken = (calls: OpenCalls, people: number, share: string | null) => {
    const over: (() => void)[] = [];
    for (let person = 0; person < people; person += 1) {
      for (let nth = 0; nth < PERSON_MAX; nth += 1) {
        try {
          over.push(calls.begin(`${share}-${person}`, share));
        } catch {
          break;
        }
      }
    }
    return over;
  };

  it("of one tenant leave most to other tenants, and come back to it when they end", () => {
    const calls = new OpenCalls();
    const over = taken(calls, 16, "one");
    expect({ one: over.length, next: taken(calls, 16, "one").length }).toEqual({ one: TENANT_MAX, next: 0 });
    expect(taken(calls, 1, "another")).toHaveLength(PERSON_MAX);
    for (const end of over) end();
    expect(taken(calls, 16, "one")).toHaveLength(TENANT_MAX);
  });

  it("of all tenants leave some to admins", () => {
    const calls = new OpenCalls();
    const shares = Array.from({ length: 6 }, (_, nth) => taken(calls, 16, `tenant-${nth}`).length);
    expect(shares.reduce((sum, share) => sum + share, 0)).toBe(ALL_MAX - ADMINS_ONLY);
    expect(taken(calls, 16, null)).toHaveLength(ADMINS_ONLY);
  });

  it("count to the tenant, or to all who have none, but an admin's to nobody", () => {
    const roles = ["user", "viewer", "auditor", "admin"] as const;
    expect(roles.map((role) => shareOf({ role, tenant_id: "t" }))).toEqual(["t", "t", "t", null]);
    expect(roles.map((role) => shareOf({ role, tenant_id: null }))).toEqual(["", "", "", null]);
  });
});
