/**
 * What is under way ends with the permission (docs/rules/users.md#approval).
 *
 * @module-tag long
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import type { User } from "../../shared/schema/user.ts";
import { startConsole, type TestConsole } from "../../test/harness/console.ts";
import type { ConsoleBrowser } from "../../test/harness/console-browser.ts";
import { DashboardError } from "./dashboard-error.ts";
import { whileAllowed } from "./while-allowed.ts";

let testing: TestConsole;
let ann: ConsoleBrowser;
let annUser: User;
let tenant: Tenant;
let other: Tenant;
let streaming: ServerResponse | null = null;

/** Begins an answer and does not end it. */
const dataPlane = createServer((incoming, response) => {
  streaming = response;
  incoming.resume();
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("data: 1\n\n");
});

beforeAll(async () => {
  dataPlane.listen(0, "127.0.0.1");
  await once(dataPlane, "listening");
  const { port } = dataPlane.address() as AddressInfo;
  testing = await startConsole({ GATEWAY_PROXY_OWN_URL: `http://127.0.0.1:${port}` });
  ann = testing.browser();
  await testing.signIn(ann);
  [annUser] = (await (await testing.control.request("GET", "/api/v1/users?q=ann")).json()) as [User];
  tenant = await newTenant("t");
  other = await newTenant("other");
});
afterAll(async () => {
  dataPlane.closeAllConnections();
  dataPlane.close();
  await testing.close();
});

const newTenant = async (name: string) =>
  (await (await testing.control.request("POST", "/api/v1/tenants", { name })).json()) as Tenant;
const become = async (body: object) => await testing.control.request("PATCH", `/api/v1/users/${annUser.id}`, body);
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** An answer that has begun, of a call as {@link tenant}. */
const streamed = async () => {
  const answer = await ann.send("POST", "/api/relay/v1/chat/completions", {}, { "x-gateway-tenant": tenant.id });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  expect((await reader.read()).value).toEqual(bytesOf("data: 1\n\n"));
  return { reader, closed: once(streaming as ServerResponse, "close") };
};
const asUser = () => ({ status: "active", role: "user", tenant_id: tenant.id, more_tenants: [] });
const inBoth = () => ({ ...asUser(), more_tenants: [{ tenant_id: other.id, role: "user" }] });
const switched = async () => await ann.send("POST", "/api/session/tenant", { tenant_id: other.id });

it.each<[string, () => object, () => Promise<unknown>]>([
  ["the role may only read", asUser, async () => await become({ role: "viewer" })],
  [
    "the role in its tenant may only read, while the session shows another one",
    inBoth,
    async () => {
      await switched();
      await become({ role: "viewer" });
    },
  ],
  [
    "an admin is a user of another tenant",
    () => ({ status: "active", role: "admin", tenant_id: null, more_tenants: [] }),
    async () => await become({ role: "user", tenant_id: other.id }),
  ],
])("breaks an answer of the playground off once %s", async (_, before, change) => {
  await become(before());
  const { reader, closed } = await streamed();
  await change();
  await expect(reader.read()).rejects.toMatchObject({ code: "ERR_STREAM_PREMATURE_CLOSE" });
  await closed;
});

it.each<[string, () => object, () => Promise<unknown>]>([
  ["the account is disabled", asUser, async () => await become({ status: "disabled" })],
  ["the person has lost its tenant", inBoth, async () => await become({ tenant_id: other.id, more_tenants: [] })],
  ["the person has signed out", asUser, async () => await ann.send("POST", "/auth/sign-out")],
])("breaks a file off once %s", async (_, before, change) => {
  await testing.signIn(ann);
  await become(before());
  const source = new TransformStream<Uint8Array, Uint8Array>();
  const writer = source.writable.getWriter();
  const { management } = testing;
  testing.management = async () =>
    new Response(source.readable, {
      headers: { "content-type": "text/csv", "content-disposition": 'attachment; filename="keys.csv"' },
    });
  const { body } = await ann.get(`/api/live/keys?format=csv&tenant_id=${tenant.id}`);
  testing.management = management;
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const [first] = await Promise.all([reader.read(), writer.write(bytesOf("id\n"))]);
  expect(first.value).toEqual(bytesOf("id\n"));
  const second = reader.read();
  await change();
  await expect(second).rejects.toMatchObject({ code: "ERR_STREAM_PREMATURE_CLOSE" });
  // the page that was asked for keeps its turn until it has come
  void writer.write(bytesOf("1\n")).catch(() => undefined);
  await expect(writer.closed).rejects.toMatchObject({ code: "ERR_STREAM_PREMATURE_CLOSE" });
});

it("leaves an answer alone while it is allowed or the database is away", async () => {
  vi.useFakeTimers();
  const checks: string[] = [];
  const source = new TransformStream<Uint8Array, Uint8Array>();
  const writer = source.writable.getWriter();
  const whole = new Response(source.readable, { status: 201, headers: { "x-kept": "yes" } });
  const answer = whileAllowed(whole, async () => {
    checks.push("asked");
    if (checks.length > 1) throw new Error("the database is away");
  });
  const text = answer.text();
  await vi.advanceTimersByTimeAsync(11_000);
  await writer.write(bytesOf("whole"));
  await writer.close();
  expect({ text: await text, status: answer.status, header: answer.headers.get("x-kept") }).toEqual({
    text: "whole",
    status: 201,
    header: "yes",
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(checks).toEqual(["asked", "asked"]);
});

it("ends its source once it is not allowed, and when its reader leaves", async () => {
  vi.useFakeTimers();
  const begun = (check: () => Promise<unknown>) => {
    const ended = Promise.withResolvers<unknown>();
    const source = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(bytesOf("1")),
      cancel: (reason) => ended.resolve(reason),
    });
    return { answer: whileAllowed(new Response(source), check), ended: ended.promise };
  };
  const refused = begun(async () => await Promise.reject(new DashboardError("signed_out")));
  const left = begun(async () => undefined);
  await left.answer.body?.cancel("left");
  await vi.advanceTimersByTimeAsync(5000);
  expect({ refused: await refused.ended, left: await left.ended }).toMatchObject({
    refused: { code: "ERR_STREAM_PREMATURE_CLOSE" },
    left: "left",
  });
});
