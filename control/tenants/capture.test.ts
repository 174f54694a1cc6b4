/**
 * The switch of captures (docs/rules/capture.md#switch).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let sealed: TestControl;
let plain: TestControl;
beforeAll(async () => {
  [sealed, plain] = await Promise.all([startControl(), startControl({ encryptionKey: null })]);
});
afterAll(async () => {
  await Promise.all([sealed.close(), plain.close()]);
});

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
async function setIn(control: TestControl, capture_until: string | null) {
  const created = await control.request("POST", "/api/v1/tenants", { name: `tenant-${crypto.randomUUID()}` });
  const { id } = (await created.json()) as Tenant;
  const answer = await control.request("PATCH", `/api/v1/tenants/${id}`, { capture_until });
  return { id, status: answer.status, text: await answer.text() };
}

it("is off in a new tenant, and every change of it is in the audit log", async () => {
  const until = inMs(60_000);
  const { id, text } = await setIn(sealed, until);
  const entries = await sealed.request("GET", `/api/v1/audit?entity_id=${id}&action=update_tenant`);
  const [entry] = (await entries.json()) as readonly AuditEntry[];
  expect({ shown: (JSON.parse(text) as Tenant).capture_until, changed: entry?.detail }).toEqual({
    shown: until,
    changed: { changed: { capture_until: [null, until] } },
  });
});

it.each([
  ["more than a day ahead", () => sealed, LIMITS.captureTime + 60_000, "must be at most 24 hours ahead"],
  ["that cannot be sealed", () => plain, 60_000, "needs GATEWAY_ENCRYPTION_KEY"],
] as const)("refuses a time %s, by its name", async (_, control, ms, message) => {
  const { status, text } = await setIn(control(), inMs(ms));
  expect({ status, text }).toEqual({ status: 400, text: expect.stringContaining(message) });
  expect(text).toContain("capture_until");
  expect((await setIn(control(), null)).status).toBe(200);
});
