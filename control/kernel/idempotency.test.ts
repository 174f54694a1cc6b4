import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { idempotencyKeys } from "../db/schema/journal.ts";
import { tenants } from "../db/schema/tenancy.ts";
import { createTenant } from "../tenants/create-tenant.ts";
import type { Publisher, VerbContext, Written } from "./context.ts";
import { runOnce } from "./idempotency.ts";

let control: TestControl;
/** A test's own idempotency key and tenant name. */
let k = "";
let body = "";

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(() => {
  k = randomUUID();
  body = JSON.stringify({ name: k });
});

const scope = "POST /api/v1/tenants";
const create = async (ctx: VerbContext): Promise<Written<Tenant>> => await createTenant(ctx, { name: k });
const never = async (): Promise<never> => await Promise.reject(new Error("done twice"));

async function names(): Promise<readonly string[]> {
  return (await control.ctx.db.select().from(tenants)).map((tenant) => tenant.name);
}

test("the same key and body are answered from the table, which does not hold the answer in clear", async () => {
  const first = await runOnce(control.ctx, k, scope, body, create);
  expect({ status: first.status, replayed: first.replayed, sync: first.sync }).toEqual({
    status: 200,
    replayed: false,
    sync: "done",
  });
  expect(await runOnce(control.ctx, k, scope, body, never)).toEqual({ ...first, replayed: true });
  await expect(runOnce(control.ctx, k, scope, "{ }", never)).rejects.toMatchObject({ code: "idempotency_key_reuse" });
  const rows = await control.ctx.db.select().from(idempotencyKeys);
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.map((row) => Buffer.from(row.answer ?? []).toString("latin1") + row.key_hash).join()).not.toContain(k);
});

test("a second call during the first is refused, and a failed first call frees the key", async () => {
  const gate = Promise.withResolvers<never>();
  const started = Promise.withResolvers<undefined>();
  const first = runOnce(control.ctx, k, scope, body, async () => {
    started.resolve(undefined);
    return await gate.promise;
  });
  await started.promise;
  await expect(runOnce(control.ctx, k, scope, body, never)).rejects.toMatchObject({ code: "idempotency_in_progress" });
  gate.reject(new Error("refused"));
  await expect(first).rejects.toThrow("refused");
  expect(await runOnce(control.ctx, k, scope, body, create)).toMatchObject({ replayed: false });
});

test("a process that ends after its write committed leaves the answer behind", async () => {
  const committed = Promise.withResolvers<undefined>();
  const publisher: Publisher = {
    publish: async () => {
      committed.resolve(undefined);
      return await new Promise<never>(() => undefined);
    },
    refresh: async (hotKeys) => await control.publisher.refresh(hotKeys),
    unconfirmed: async () => await control.publisher.unconfirmed(),
  };
  void runOnce({ ...control.ctx, publisher }, k, scope, body, create);
  await committed.promise;
  const repeated = await runOnce(control.ctx, k, scope, body, never);
  expect({ replayed: repeated.replayed, name: (JSON.parse(repeated.body) as Tenant).name }).toEqual({
    replayed: true,
    name: k,
  });
});

test("a process that stops before its write commits holds the key for a minute, then loses it", async () => {
  const wake = Promise.withResolvers<undefined>();
  const late = runOnce(control.ctx, k, scope, body, async (ctx) => {
    await wake.promise;
    return await createTenant(ctx, { name: `too late for ${k}` });
  });
  const now = (afterMs: number) => () => new Date(Date.now() + afterMs);
  const call = async (afterMs: number) => await runOnce({ ...control.ctx, now: now(afterMs) }, k, scope, body, create);
  await expect(call(50_000)).rejects.toMatchObject({ code: "idempotency_in_progress" });
  const answer = await call(61_000);
  expect(answer.replayed).toBe(false);
  wake.resolve(undefined);
  await expect(late).rejects.toMatchObject({ code: "idempotency_in_progress" });
  expect((await names()).filter((name) => name.includes(k))).toEqual([k]);
  expect(await call(62_000)).toEqual({ ...answer, replayed: true });
});

test("a key is its route's own, and of 1 to 255 characters", async () => {
  await runOnce(control.ctx, k, scope, body, create);
  const other = await runOnce(control.ctx, k, "POST /api/v1/models", "{}", async (ctx) => {
    return await createTenant(ctx, { name: `other than ${k}` });
  });
  expect(other.replayed).toBe(false);
  for (const key of ["", "x".repeat(256)])
    await expect(runOnce(control.ctx, key, scope, body, never)).rejects.toMatchObject({ code: "validation_failed" });
});
