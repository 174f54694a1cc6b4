import { afterEach, beforeEach, expect, test } from "vitest";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { idempotencyKeys } from "../db/schema/journal.ts";
import { once } from "./idempotency.ts";

let control: TestControl;
beforeEach(async () => {
  control = await startControl();
});
afterEach(async () => {
  await control.close();
});

const scope = "POST /api/v1/tenants";
const created = async () => await Promise.resolve({ status: 200, body: "a secret" });
const never = async (): Promise<never> => await Promise.reject(new Error("done twice"));

test("the same key and body are answered from the table, which does not hold the answer in clear", async () => {
  expect(await once(control.ctx, "k", scope, "{}", created)).toEqual({
    status: 200,
    body: "a secret",
    replayed: false,
  });
  expect(await once(control.ctx, "k", scope, "{}", never)).toEqual({ status: 200, body: "a secret", replayed: true });
  await expect(once(control.ctx, "k", scope, "{ }", never)).rejects.toMatchObject({ code: "idempotency_key_reuse" });
  const [row] = await control.ctx.db.select().from(idempotencyKeys);
  expect(Buffer.from(row?.answer ?? []).toString("latin1")).not.toContain("secret");
  expect(row?.key_hash).not.toBe("k");
});

test("a second call during the first is refused, and a failed first call frees the key", async () => {
  const gate = Promise.withResolvers<{ status: number; body: string }>();
  const started = Promise.withResolvers<undefined>();
  const first = once(control.ctx, "k", scope, "{}", async () => {
    started.resolve(undefined);
    return await gate.promise;
  });
  await started.promise;
  await expect(once(control.ctx, "k", scope, "{}", never)).rejects.toMatchObject({ code: "idempotency_in_progress" });
  gate.reject(new Error("refused"));
  await expect(first).rejects.toThrow("refused");
  expect(await once(control.ctx, "k", scope, "{}", created)).toMatchObject({ replayed: false });
});

test("a key is its route's own, and of 1 to 255 characters", async () => {
  await once(control.ctx, "k", scope, "{}", created);
  expect(await once(control.ctx, "k", "POST /api/v1/models", "{}", created)).toMatchObject({ replayed: false });
  for (const key of ["", "x".repeat(256)])
    await expect(once(control.ctx, key, scope, "{}", never)).rejects.toMatchObject({ code: "validation_failed" });
});
