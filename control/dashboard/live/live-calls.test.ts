/**
 * Calls of browsers at the same time (docs/rules/console.md#live): the users of a tenant take turns, whatever they ask.
 *
 * @module-tag check
 */
import { expect, it } from "vitest";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { managementLiveRoutes } from "../../app.ts";
import type { UserRow } from "../../db/schema/users.ts";
import { Live } from "./live.ts";
import { LiveCalls } from "./live-calls.ts";

const AT_ONCE = 4;
const PERSON_AT_ONCE = 2;
const WAITING_MAX = 64;
const PERSON_MAX = 32;
const PATH = "/costs/months";
const [A, B] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"] as const;

const user = (id: string, tenant_id: string | null, role: UserRow["role"] = "user") =>
  ({ id, email: `${id}@example.org`, role, tenant_id, status: "active" }) as UserRow;
const ann = user("ann", A);
const bob = user("bob", B);

/** The console before a Management API that answers on a signal; that of tenant B answers at once. */
function consoleBefore() {
  const running: (() => void)[] = [];
  const seen = { calls: 0, running: 0, most: 0 };
  const live = new Live({
    adminToken: "t",
    routes: managementLiveRoutes(),
    nowMs: () => 0,
    bodyMs: 200,
    management: async (request) => {
      if (request.headers.get("authorization")?.includes(B) === true) return Response.json([]);
      seen.calls += 1;
      seen.running += 1;
      seen.most = Math.max(seen.most, seen.running);
      await new Promise<void>((resolve) => running.push(resolve));
      seen.running -= 1;
      return Response.json([]);
    },
  });
  const ask = async (caller: UserRow, signal?: AbortSignal) => {
    const request = new Request(`http://console/api/live${PATH}`, signal === undefined ? {} : { signal });
    const answer = await live.answer(request, PATH, { user: caller, address: null });
    await answer.text();
    return answer.status;
  };
  const started = async (calls: number) =>
    await waitFor(
      () => seen.calls,
      (count) => count === calls,
    );
  const next = async () => {
    await waitFor(
      () => running.length,
      (count) => count > 0,
    );
    running.shift()?.();
  };
  return { live, ask, seen, started, next };
}

const codeOf = async (call: Promise<unknown>): Promise<unknown> =>
  await call.then(
    () => null,
    (error: unknown) => (error as { code?: string }).code,
  );

it("the users of a tenant have a few at work, and another tenant's is answered at once", async () => {
  const { ask, seen, started, next } = consoleBefore();
  const calls = Array.from({ length: 12 }, async (_, nth) => await ask(nth % 2 === 0 ? ann : user("amy", A)));
  await started(AT_ONCE);
  expect({ bob: await ask(bob), calls: seen.calls }).toEqual({ bob: 200, calls: AT_ONCE });
  for (let nth = 0; nth < 12; nth += 1) await next();
  const answers = await Promise.all(calls);
  expect({ answers: new Set(answers), most: seen.most }).toEqual({ answers: new Set([200]), most: AT_ONCE });
});

it("one whose browser has left is not made while it waits, and keeps its turn while it runs", async () => {
  const { ask, seen, started, next } = consoleBefore();
  const leaving = new AbortController();
  const left = Promise.allSettled(Array.from({ length: 20 }, async () => await ask(ann, leaving.signal)));
  await started(PERSON_AT_ONCE);
  leaving.abort();
  const stays = ask(ann);
  const whileTheyRun = seen.calls;
  for (let nth = 0; nth < PERSON_AT_ONCE; nth += 1) await next();
  await left;
  await next();
  expect({ whileTheyRun, stays: await stays, calls: seen.calls }).toEqual({
    whileTheyRun: PERSON_AT_ONCE,
    stays: 200,
    calls: PERSON_AT_ONCE + 1,
  });
});

it("a person, and the waiting users of a tenant, have so many open; the next one is refused", async () => {
  const { ask, seen, started } = consoleBefore();
  const leaving = new AbortController();
  const open = (caller: UserRow, count: number) =>
    Promise.allSettled(Array.from({ length: count }, async () => await ask(caller, leaving.signal)));
  void open(ann, PERSON_MAX);
  const annsNext = await codeOf(ask(ann));
  void open(user("amy", A), PERSON_MAX);
  void open(user("abe", A), AT_ONCE + WAITING_MAX - 2 * PERSON_MAX);
  await started(AT_ONCE);
  const tenantsNext = await codeOf(ask(user("abe", A)));
  const bobs = await ask(bob);
  leaving.abort();
  expect({ annsNext, tenantsNext, bobs, calls: seen.calls }).toEqual({
    annsNext: "too_many_calls",
    tenantsNext: "too_many_calls",
    bobs: 200,
    calls: AT_ONCE,
  });
});

it("those of an admin wait for no turn, but are so many", async () => {
  const { ask, started } = consoleBefore();
  const admin = user("root", null, "admin");
  void Promise.allSettled(Array.from({ length: PERSON_MAX }, async () => await ask(admin)));
  await started(PERSON_MAX);
  expect(await codeOf(ask(admin))).toBe("too_many_calls");
});

it("a person with many calls leaves turns to the others of the tenant", async () => {
  const { ask, seen, started, next } = consoleBefore();
  const anns = Array.from({ length: 10 }, async () => await ask(ann));
  await started(PERSON_AT_ONCE);
  const amys = ask(user("amy", A));
  await started(PERSON_AT_ONCE + 1);
  for (let nth = 0; nth < 11; nth += 1) await next();
  expect({ amys: await amys, anns: new Set(await Promise.all(anns)), calls: seen.calls }).toEqual({
    amys: 200,
    anns: new Set([200]),
    calls: 11,
  });
});

it("answers that the viewers of one tenant never read leave calls to others and to admins", async () => {
  const calls = new LiveCalls();
  const stays = new AbortController().signal;
  const unread = async (caller: UserRow) => {
    const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(new Uint8Array(1));
    const body = () => new ReadableStream({ pull }, { highWaterMark: 0 });
    return await codeOf(
      calls.answer(caller, stays, { received: async () => null, call: async () => new Response(body()) }),
    );
  };
  const answers: unknown[] = [];
  for (let nth = 0; nth < 512; nth += 1) answers.push(await unread(user(`viewer-${nth % 16}`, A, "viewer")));
  expect(answers.filter((code) => code === null)).toHaveLength(96);
  expect([await unread(user("root", null, "admin")), await unread(bob)]).toEqual([null, null]);
});

it("a body that does not come whole takes no turn, and is refused in time", async () => {
  const { live, ask, started, next } = consoleBefore();
  const path = `/tenants/${A}/keys`;
  const slow = Array.from({ length: AT_ONCE }, async () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([123])) });
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    return await codeOf(
      live.answer(new Request(`http://console/api/live${path}`, init), path, { user: ann, address: null }),
    );
  });
  const anns = ask(ann);
  await started(1);
  await next();
  expect({ anns: await anns, slow: new Set(await Promise.all(slow)) }).toEqual({
    anns: 200,
    slow: new Set(["request_timeout"]),
  });
});
