/**
 * The registry of MCP servers (docs/rules/mcp.md#registry).
 *
 * @module-tag check
 */
import { asc } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { unseal } from "../../shared/crypto/seal.ts";
import { type McpServerRecord, mcpServerRecordSchema, storeKeys } from "../../shared/records.ts";
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { auditLog } from "../db/schema/journal.ts";

let control: TestControl;
let server: McpServer;
let count = 0;
const ALL = "/api/v1/mcp-servers";

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  count += 1;
  const body = { name: `tools-${count}`, upstream_url: "http://127.0.0.1:9/mcp", auth_header: "Bearer hidden-1" };
  server = (await (await control.request("POST", ALL, body)).json()) as McpServer;
  control.cell.items.length = 0;
});

const put = async (body: unknown): Promise<Response> => await control.request("PUT", `${ALL}/${server.id}`, body);

async function copy(name: string): Promise<McpServerRecord | null> {
  const [text] = await control.store.get([storeKeys.mcp(name)]);
  return text === null || text === undefined ? null : mcpServerRecordSchema.parse(JSON.parse(text));
}

/** The credential that the data plane would send. */
async function credential(name: string): Promise<string | null> {
  const stored = (await copy(name))?.auth_header ?? null;
  return stored === null ? null : await unseal(stored, control.ctx.sealKey);
}

describe("an MCP server", () => {
  it("is registered enabled; its credential is sealed and never shown", async () => {
    expect(server).toEqual({
      id: expect.any(String),
      name: `tools-${count}`,
      upstream_url: "http://127.0.0.1:9/mcp",
      auth_header_set: true,
      enabled: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      rev: expect.any(Number),
    });
    expect(await (await control.request("GET", `${ALL}/${server.id}`)).json()).toEqual(server);
    expect(await copy(server.name)).toMatchObject({ v: 1, id: server.id, enabled: true });
    expect((await copy(server.name))?.auth_header).toMatch(/^enc:v1:/);
    expect(await credential(server.name)).toBe("Bearer hidden-1");
  });

  it("keeps what an update omits; a null credential keeps, an empty one clears", async () => {
    const changed = (await (await put({ upstream_url: "http://127.0.0.1:10/", enabled: false })).json()) as McpServer;
    expect(changed).toEqual({
      ...server,
      upstream_url: "http://127.0.0.1:10/",
      enabled: false,
      updated_at: changed.updated_at,
      rev: changed.rev,
      warnings: [expect.stringContaining("auth_header was kept")],
    });
    expect(await copy(server.name)).toMatchObject({ upstream_url: "http://127.0.0.1:10/", enabled: false });
    expect(control.cell.items).toMatchObject([{ kind: "mcp", id: server.name }]);
    await put({ auth_header: null });
    expect(await credential(server.name)).toBe("Bearer hidden-1");
    await put({ auth_header: "Basic other" });
    expect(await credential(server.name)).toBe("Basic other");
    expect(await (await put({ auth_header: "" })).json()).toMatchObject({ auth_header_set: false });
    expect(await credential(server.name)).toBeNull();
  });

  it("leaves no copy under its old name, and the cells get an item for both names", async () => {
    await put({ name: `renamed-${count}` });
    expect(await copy(server.name)).toBeNull();
    expect(await copy(`renamed-${count}`)).toMatchObject({ id: server.id });
    expect(control.cell.items.map((item) => item.id).sort()).toEqual([`renamed-${count}`, server.name].sort());
  });

  it("is gone when it is deleted, copy included", async () => {
    expect((await control.request("DELETE", `${ALL}/${server.id}`)).status).toBe(204);
    expect((await control.request("GET", `${ALL}/${server.id}`)).status).toBe(404);
    expect(await copy(server.name)).toBeNull();
    expect(control.cell.items).toMatchObject([{ kind: "mcp", id: server.name }]);
  });

  it("has a name of its own", async () => {
    const body = { name: `other-${count}`, upstream_url: "http://127.0.0.1:9/mcp" };
    await control.request("POST", ALL, body);
    for (const response of [await control.request("POST", ALL, body), await put({ name: body.name })]) {
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 409,
        body: { error: { code: "already_exists", message: `mcp server '${body.name}' already exists`, param: "name" } },
      });
    }
  });

  it.each([
    [{ name: undefined }, "name"],
    [{ name: " " }, "name"],
    [{ name: "a/b" }, "name"],
    [{ name: "ä" }, "name"],
    [{ name: ".." }, "name"],
    [{ name: "x".repeat(101) }, "name"],
    [{ upstream_url: undefined }, "upstream_url"],
    [{ upstream_url: "" }, "upstream_url"],
    [{ upstream_url: "ftp://host/" }, "upstream_url"],
    [{ upstream_url: "http://user:word@host/" }, "upstream_url"],
    [{ upstream_url: "http://host/mcp?readonly=true#part" }, "upstream_url"],
    [{ auth_header: "Bearer a\r\nx: y" }, "auth_header"],
    [{ auth_header: 5 }, "auth_header"],
    [{ enabled: "yes" }, "enabled"],
  ])("is refused with %j by naming %s, and nothing is stored", async (change, field) => {
    const before = await (await control.request("GET", `${ALL}?limit=1000`)).text();
    const response = await control.request("POST", ALL, {
      name: "new",
      upstream_url: "http://127.0.0.1:9/",
      ...change,
    });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: field, details: [{ path: field }] } },
    });
    expect(await (await control.request("GET", `${ALL}?limit=1000`)).text()).toBe(before);
  });

  it("may not stand at a blocked address", async () => {
    const blocked = { upstream_url: "http://169.254.169.254/mcp" };
    for (const response of [await control.request("POST", ALL, { name: "meta", ...blocked }), await put(blocked)]) {
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: { error: { code: "address_blocked", message: "upstream_url resolves to a blocked address" } },
      });
    }
  });

  it("leaves who changed what in the audit log, without its credential", async () => {
    const begun = await control.connection.db.$count(auditLog);
    await put({ enabled: false, auth_header: "Bearer hidden-2" });
    await control.request("DELETE", `${ALL}/${server.id}`);
    const entries = await control.connection.db.select().from(auditLog).orderBy(asc(auditLog.id)).offset(begun);
    expect(entries.map((entry) => [entry.action, entry.entity_type, entry.entity_id, entry.detail])).toEqual([
      ["update_mcp_server", "mcp_server", server.id, { changed: { enabled: [true, false], auth_header: "changed" } }],
      ["delete_mcp_server", "mcp_server", server.id, { name: server.name }],
    ]);
  });
});

it("the list is paged in order of creation; a resync restores what the store lost", async () => {
  const first = await control.request("GET", `${ALL}?limit=1`);
  expect(first.headers.get("link")).toContain('rel="next"');
  const names = ((await (await control.request("GET", `${ALL}?limit=1000`)).json()) as McpServer[]).map(
    (each) => each.name,
  );
  expect(names).toContain(server.name);
  await control.store.put([
    { hotKey: storeKeys.mcp(server.name), text: null },
    { hotKey: storeKeys.mcp("nobody"), text: JSON.stringify({}) },
  ]);
  const report = await control.resync.all();
  expect(report).toMatchObject({ mcp_servers: names.length, removed: 1 });
  expect(await copy(server.name)).toMatchObject({ id: server.id });
  expect(await control.store.get([storeKeys.mcp("nobody")])).toEqual([null]);
});
