/** Reads of a session (docs/rules/console.md#sessions), which many requests of its browser need at the same time. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import type { Database } from "../db/connect.ts";
import { Sessions } from "./sessions.ts";
import { signInBreakGlass } from "./users.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

it("reads of one session are few however many ask, and know what was written before", async () => {
  const { db } = control.connection;
  const { randomBytes } = control.ctx;
  let reads = 0;
  const counting = new Proxy(db, {
    get: (target, name) => {
      if (name === "select") reads += 1;
      return Reflect.get(target, name) as unknown;
    },
  }) as Database;
  const sessions = new Sessions({ db: counting, now: () => new Date(), randomBytes });
  const { id } = await signInBreakGlass(db, "root@example.org", new Date());
  const token = await sessions.begin(id, { address: "", agent: "" });
  await sessions.personOf(token);
  const readsOfOne = reads;
  reads = 0;
  const many = Array.from({ length: 40 }, async () => await sessions.personOf(token));
  const people = await Promise.all(many);
  const late = Array.from({ length: 40 }, async () => await sessions.personOf(token));
  await sessions.end(token);
  const ended = await sessions.personOf(token);
  await Promise.all(late);
  expect({ ids: new Set(people.map((person) => person?.id)), ended, areFew: reads <= 4 * readsOfOne }).toEqual({
    ids: new Set([id]),
    ended: null,
    areFew: true,
  });
});
