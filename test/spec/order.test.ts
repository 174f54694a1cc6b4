/**
 * Which refusal comes first when several things are wrong (docs/rules/errors.md#refusal-order), and the rows of unknown
 * callers (docs/rules/settlement-and-rows.md#refusals).
 */
import { request } from "node:http";
import { describe, expect, inject, it } from "vitest";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const NIL = "00000000-0000-0000-0000-000000000000";
const TOO_LARGE = { "content-length": "33554433" };

interface Answer {
  readonly status: number;
  readonly code: string | null;
  readonly requestId: string;
}

/** Sends headers only; the path is sent as it is written. */
async function send(base: string, method: string, path: string, headers: Record<string, string>): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const outgoing = request(base, { method, path, headers }, (incoming) => {
      let text = "";
      incoming.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      incoming.on("end", () => {
        outgoing.destroy();
        const { error } = JSON.parse(text) as { error: { code: string | null } };
        const requestId = String(incoming.headers["x-gateway-request-id"] ?? "");
        resolve({ status: incoming.statusCode ?? 0, code: error.code, requestId });
      });
    });
    outgoing.on("error", reject);
    outgoing.flushHeaders();
    if (headers["content-length"] === undefined) outgoing.end();
  });
}

describe("several things wrong at once", () => {
  it("are refused in the order credential, key, tenant, path, size", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const unsafe = "/v1/chat%2fcompletions";
    const known = { authorization: `Bearer ${minted.secret}`, ...TOO_LARGE };
    const refusal = async (headers: Record<string, string>, path = unsafe): Promise<[number, string | null]> => {
      const answer = await send(fixture.gateway.proxyUrl, "POST", path, headers);
      return [answer.status, answer.code];
    };
    expect(await refusal(TOO_LARGE)).toEqual([401, "missing_api_key"]);
    expect(await refusal({ ...TOO_LARGE, authorization: "Bearer sk_no" })).toEqual([401, "invalid_api_key"]);
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/status`, { status: "suspended" });
    await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    expect(await refusal(known)).toEqual([403, "api_key_disabled"]);
    await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: false });
    expect(await refusal(known)).toEqual([403, "tenant_not_active"]);
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/status`, { status: "active" });
    expect(await refusal(known)).toEqual([400, "invalid_path"]);
    expect(await refusal(known, "/v1/chat/completions")).toEqual([413, "request_too_large"]);
  });

  it.each(["disabled", "suspended", "deleted"])(
    "are 403 or 401 at once for a %s caller that was served before",
    async (change) => {
      const minted = await fixture.gateway.mint(fixture.upstream.url);
      const bodies = ["{", "{}", '{"model":"no-such-model"}'];
      const statuses = async (): Promise<readonly number[]> => {
        const seen: number[] = [];
        const headers = { authorization: `Bearer ${minted.secret}` };
        for (const body of bodies) {
          const init = { method: "POST", headers, body };
          const response = await fetch(`${fixture.gateway.proxyUrl}/v1/chat/completions`, init);
          await response.text();
          seen.push(response.status);
        }
        for (const path of ["/v1/nowhere", "/v1/models"]) {
          const response = await fetch(`${fixture.gateway.proxyUrl}${path}`, { headers });
          await response.text();
          seen.push(response.status);
        }
        return seen;
      };
      expect(await statuses()).toEqual([400, 400, 404, 404, 200]);
      if (change === "disabled")
        await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
      else if (change === "deleted") await fixture.gateway.must("DELETE", `/keys/${minted.key.id}`);
      else await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/status`, { status: "suspended" });
      const refused = change === "deleted" ? 401 : 403;
      expect(await statuses()).toEqual(Array.from({ length: 5 }, () => refused));
    },
  );
});

describe("an unknown caller", () => {
  it("leaves a row under the nil tenant and key", async () => {
    const { requestId } = await send(fixture.gateway.proxyUrl, "POST", "/v1/chat/completions", {});
    const [row] = await waitFor(
      async () => await fixture.gateway.must<readonly UsageLog[]>("GET", `/usage/logs?request_id=${requestId}`),
      (rows) => rows.length > 0,
    );
    expect(row).toMatchObject({
      tenant_id: NIL,
      key_id: NIL,
      admission: "rejected",
      status_code: 401,
      model: "",
      request_type: "chat",
      total_tokens: 0,
      cost_usd: 0,
    });
  });
});

describe("the Management API's listener", () => {
  const admin = async (
    method: string,
    path: string,
    headers: Record<string, string>,
  ): Promise<[number, string | null]> => {
    const answer = await send(inject("adminUrl"), method, path, headers);
    return [answer.status, answer.code];
  };

  it("answers 401 before 404, 405 and 413", async () => {
    const token = { authorization: `Bearer ${inject("adminToken")}` };
    const large = { "content-length": "2097153" };
    for (const [method, path] of [
      ["GET", "/api/v1/nowhere"],
      ["DELETE", "/api/v1/tenants"],
      ["POST", "/api/v1/tenants"],
    ] as const)
      expect(await admin(method, path, large)).toEqual([401, "unauthorized"]);
    expect(await admin("GET", "/api/v1/nowhere", token)).toEqual([404, "not_found"]);
    expect(await admin("DELETE", "/api/v1/tenants", token)).toEqual([405, "method_not_allowed"]);
    expect(await admin("POST", "/api/v1/tenants", { ...token, ...large })).toEqual([413, "request_too_large"]);
    expect(await admin("GET", "/api/v1/tenants", { authorization: `bearer ${inject("adminToken")}` })).toEqual([
      401,
      "unauthorized",
    ]);
    expect(await admin("GET", "/internal/anything", {})).toEqual([404, "not_found"]);
  });
});
