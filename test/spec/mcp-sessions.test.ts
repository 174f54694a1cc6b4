/**
 * A session of an MCP server belongs to its tenant, although all tenants reach a server as the same caller
 * (docs/rules/mcp.md#sessions).
 */
import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { describe, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import { useGateway } from "../harness/fixture.ts";
import { type McpMinted, useMcp } from "../harness/mcp-fixture.ts";

const fixture = useGateway();
const mcp = useMcp(fixture);

/** Two tenants of one server, and a session that the server has just given to the first. */
async function scene(): Promise<{ readonly own: McpMinted; readonly other: McpMinted; readonly id: string }> {
  const [own, stranger] = await Promise.all([mcp.mint(), mcp.mint()]);
  const id = randomUUID();
  const begun = await mcp.call(own, `/session=${id}`);
  expect({ status: begun.status, "mcp-session-id": begun.headers.get("mcp-session-id") }).toEqual({
    status: 200,
    "mcp-session-id": id,
  });
  await begun.text();
  return { own, other: { ...stranger, server: own.server }, id };
}

/** Status and error code of a call in a session; `ok` for a call that is served. */
async function outcome(minted: McpMinted, id: string, method = "POST", rest = ""): Promise<readonly unknown[]> {
  const response = await mcp.call(minted, `/status=200/${rest}`, { method, headers: { "mcp-session-id": id } });
  const text = await response.text();
  if (response.ok) return [response.status, "ok"];
  return [response.status, (JSON.parse(text) as { error: { code: string } }).error.code];
}

const UNKNOWN = [404, "mcp_session_not_found"];

describe("a session", () => {
  it("serves every key of its tenant, and is unknown to others, which never reach the server", async () => {
    const { own, other, id } = await scene();
    const { secret } = await fixture.gateway.must<CreatedKey>("POST", `/tenants/${own.tenant.id}/keys`, {});
    const mark = randomUUID();
    for (const method of ["GET", "POST", "DELETE", "PUT"])
      expect({ method, outcome: await outcome(other, id, method, mark) }).toEqual({ method, outcome: UNKNOWN });
    expect(mcp.upstream.seen(mark)).toEqual([]);
    expect(await outcome({ ...own, secret }, id)).toEqual([200, "ok"]);
    expect(await outcome(own, id)).toEqual([200, "ok"]);
  });

  it("leaves the row of a refusal for a tenant that does not know it", async () => {
    const { other, id } = await scene();
    const refused = await mcp.call(other, "", { headers: { "mcp-session-id": id } });
    const { error } = (await refused.json()) as { error: unknown };
    expect(error).toEqual({
      message: "mcp session is not known",
      type: "not_found_error",
      code: "mcp_session_not_found",
      param: null,
    });
    const row = await fixture.gateway.row(other.tenant.id, refused.headers.get("x-gateway-request-id"));
    expect(row).toMatchObject({ admission: "rejected", status_code: 404 });
  });

  it("is looked for under any spelling of its header, and among several values", async () => {
    const { own, other, id } = await scene();
    const statusWith = async (minted: McpMinted, headers: Record<string, string | string[]>): Promise<unknown> =>
      await new Promise((resolve, reject) => {
        const path = `/mcp/${minted.server.name}/status=200`;
        const all = { authorization: `Bearer ${minted.secret}`, ...headers };
        const outgoing = request(fixture.gateway.proxyUrl, { method: "POST", path, headers: all }, (incoming) => {
          incoming.resume();
          resolve(incoming.statusCode);
        });
        outgoing.on("error", reject);
        outgoing.end("{}");
      });
    const spellings = [
      { "MCP-SESSION-ID": id },
      { "Mcp-Session-Id": ["mine", id] },
      { "mcp-session-id": `${id},mine` },
    ];
    for (const headers of spellings) {
      expect({ headers, status: await statusWith(other, headers) }).toEqual({ headers, status: 404 });
      expect({ headers, status: await statusWith(own, headers) }).toEqual({ headers, status: 200 });
    }
  });

  it("that has no known tenant passes to the server", async () => {
    const { own, other } = await scene();
    const id = randomUUID();
    for (const minted of [own, other, own]) expect(await outcome(minted, id)).toEqual([200, "ok"]);
  });

  it("is known at its own server only", async () => {
    const { other, id } = await scene();
    const elsewhere = await mcp.mint();
    expect(await outcome({ ...other, server: elsewhere.server }, id)).toEqual([200, "ok"]);
    expect(await outcome(other, id)).toEqual(UNKNOWN);
  });

  it("is forgotten when its server ends it, and not when the server keeps it", async () => {
    const { own, other, id } = await scene();
    const end = async (status: number): Promise<number> =>
      (await mcp.call(own, `/status=${status}`, { method: "DELETE", headers: { "mcp-session-id": id } })).status;
    expect({ endStatus: await end(405), outcome: await outcome(other, id) }).toEqual({
      endStatus: 405,
      outcome: UNKNOWN,
    });
    expect({ endStatus: await end(204), outcome: await outcome(other, id) }).toEqual({
      endStatus: 204,
      outcome: [200, "ok"],
    });
  });
});
