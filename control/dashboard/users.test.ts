/** The revision of a person's record (docs/rules/users.md#approval): what gives it another one, and what is refused by it. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import type { User } from "../../shared/schema/user.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { type Identity, signInIdentity } from "./users.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

const somebody = (): Identity => {
  const subject = randomUUID();
  return { provider: "oidc", subject, email: `${subject}@example.org`, isEmailVerified: true, name: "Ann", groups: [] };
};
const signIn = async (identity: Identity): Promise<User> => {
  const signedIn = await signInIdentity(control.connection.db, identity, {
    reserved: "",
    now: new Date(),
    address: "",
  });
  if (signedIn.kind === "refused") throw new Error(signedIn.reason);
  return await read(signedIn.user.id);
};
const read = async (id: string): Promise<User> =>
  (await (await control.request("GET", `/api/v1/users/${id}`)).json()) as User;
const change = async (id: string, body: object, rev: number): Promise<Response> =>
  await control.request("PATCH", `/api/v1/users/${id}`, body, { "if-match": `"${rev}"` });

it("keeps one admin's decision from being overwritten by another who has not seen it", async () => {
  const { id, rev } = await signIn(somebody());
  const approved = await change(id, { status: "active", role: "admin" }, rev);
  expect({ status: approved.status, etag: approved.headers.get("etag") }).toEqual({
    status: 200,
    etag: `"${(await read(id)).rev}"`,
  });
  const lost = await change(id, { status: "disabled" }, rev);
  expect({ status: lost.status, body: await lost.json() }).toMatchObject({
    status: 412,
    body: { error: { code: "changed_meanwhile", present: { status: "active", role: "admin" } } },
  });
  const gone = await control.request("DELETE", `/api/v1/users/${id}`, undefined, { "if-match": `"${rev}"` });
  expect(gone.status).toBe(412);
  expect((await change(id, { status: "disabled" }, (await read(id)).rev)).status).toBe(200);
});

it("stays when the person signs in again, and is another once name or email is", async () => {
  const identity = somebody();
  const { id, rev } = await signIn(identity);
  expect((await signIn(identity)).rev).toBe(rev);
  const renamed = await signIn({ ...identity, name: "Ann B." });
  expect({ name: renamed.name, isNewer: renamed.rev > rev }).toEqual({ name: "Ann B.", isNewer: true });
  expect((await read(id)).rev).toBe(renamed.rev);
  const audit = await (await control.request("GET", `/api/v1/audit?entity_id=${id}`)).json();
  expect(audit).toMatchObject([{ action: "update_user", detail: { changed: { name: ["Ann", "Ann B."] } } }]);
});

it("is another once the person's tenant is deleted", async () => {
  const tenant = (await (await control.request("POST", "/api/v1/tenants", { name: randomUUID() })).json()) as Tenant;
  const { id, rev } = await signIn(somebody());
  const moved = (await (await change(id, { tenant_id: tenant.id }, rev)).json()) as User;
  await control.request("DELETE", `/api/v1/tenants/${tenant.id}`);
  const after = await read(id);
  expect({ tenant_id: after.tenant_id, isNewer: after.rev > moved.rev }).toEqual({ tenant_id: null, isNewer: true });
});

it("is listed with the name of its tenant", async () => {
  const name = randomUUID();
  const tenant = (await (await control.request("POST", "/api/v1/tenants", { name })).json()) as Tenant;
  const { id, rev, email } = await signIn(somebody());
  const listed = async (): Promise<unknown> =>
    await (await control.request("GET", `/api/v1/users?q=${encodeURIComponent(email)}`)).json();
  expect(await listed()).toMatchObject([{ id, tenant_id: null, tenant_name: null }]);
  await change(id, { tenant_id: tenant.id }, rev);
  expect(await listed()).toMatchObject([{ id, tenant_id: tenant.id, tenant_name: name }]);
});
