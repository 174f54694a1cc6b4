/** During a rotation two admin tokens are accepted; the status says whether the old one is still used. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Rotation } from "../../shared/schema/rotation.ts";
import { ADMIN_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";
import { userCredential } from "./guard.ts";

let control: TestControl;
const OLD = "admin-token-of-before";

beforeAll(async () => {
  control = await startControl({ oldAdminTokens: [OLD] });
});
afterAll(async () => {
  await control.close();
});

const statusOf = async (authorization: string): Promise<number> =>
  (await control.request("GET", "/api/v1/tenants", undefined, { authorization })).status;
const tokens = async () => {
  const { admin_token, internal_token } = await control.must<Rotation>("GET", "/rotation");
  return { admin_token, internal_token };
};

it("accepts the current token and the old one, no other, and says when the old one was used", async () => {
  const none = { old_accepted: false, old_used_at: null };
  expect(await statusOf(`Bearer ${ADMIN_TOKEN}`)).toBe(200);
  expect(await statusOf(`Bearer ${OLD}!`)).toBe(401);
  expect(await tokens()).toEqual({ admin_token: { old_accepted: true, old_used_at: null }, internal_token: none });
  expect(await statusOf(`Bearer ${OLD}`)).toBe(200);
  const used = { old_accepted: true, old_used_at: expect.stringMatching(/^\d{4}-.*Z$/) as string };
  expect(await tokens()).toEqual({ admin_token: used, internal_token: none });
  expect(await statusOf(userCredential(crypto.randomUUID(), OLD))).toBe(404);
});
