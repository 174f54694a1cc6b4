/** Forms of files keep what the gateway knows, and no more (docs/rules/batches.md#files). */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { CALLER_HEADERS, CLIENT_PATHS } from "../../shared/wire/batch-lines.ts";
import { INTERNAL_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => await control.close());

it("unknown fields are thrown away unread, and a form has a bounded number of parts", async () => {
  const made = await control.request("POST", "/api/v1/tenants", { name: `of-forms-${randomUUID()}` });
  const { id } = (await made.json()) as Tenant;
  const upload = async (unknownFields: number, bytes: number) => {
    const form = new FormData();
    form.append("purpose", "batch");
    for (let at = 0; at < unknownFields; at += 1) form.append(`x-${at}`, "x".repeat(bytes));
    form.append("file", new Blob(["{}\n"]), "a.jsonl");
    const response = await control.app.request(`${CLIENT_PATHS}/v1/files`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${INTERNAL_TOKEN}`,
        [CALLER_HEADERS.tenant]: id,
        [CALLER_HEADERS.key]: randomUUID(),
      },
      body: form,
    });
    return { status: response.status, body: await response.json() };
  };
  expect(await upload(2, 100_000)).toMatchObject({ status: 200, body: { object: "file", bytes: 3 } });
  expect(await upload(40, 10)).toMatchObject({ status: 400, body: { error: { param: "file" } } });
});
