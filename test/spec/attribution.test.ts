/**
 * Tags and end users of requests: from the client to the row, its reads and its filters (docs/rules/routes.md#tags,
 * docs/rules/routes.md#end-user, docs/rules/usage-reads.md#groups-of-clients).
 */
import { describe, expect, it } from "vitest";
import type { DailyUsage, UsageTotals } from "../../shared/schema/usage-reads.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { speaking } from "../harness/speaking.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();

const rowOf = async (minted: Minted, response: Response) =>
  await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));

async function post(minted: Minted, path: string, body: object | FormData, headers = {}): Promise<Response> {
  const isForm = body instanceof FormData;
  return await fetch(`${fixture.gateway.proxyUrl}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${minted.secret}`,
      ...(isForm ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    body: isForm ? body : JSON.stringify(body),
  });
}

describe("the tags of a request", () => {
  it("are in its row, its filter and its sums, and never go upstream", async () => {
    const minted = await mintAt(fixture.gateway, upstream, {});
    const headers = { "x-gateway-tags": "team=search, env=prod" };
    const response = await fixture.gateway.chat(minted, { headers, body: { user: "u-1" } });
    await response.text();
    const row = await rowOf(minted, response);
    expect(row).toMatchObject({ tags: "env=prod,team=search", end_user: "u-1", status_code: 200 });
    const [seen] = upstream.seen(minted.mark);
    expect(Object.keys(seen?.headers ?? {}).filter((name) => name.startsWith("x-gateway"))).toEqual([]);

    const { tenant } = minted;
    expect(await fixture.gateway.rows(tenant.id, "&tag=team%3Dsearch&end_user=u-1")).toMatchObject([
      { request_id: row.request_id },
    ]);
    expect(await fixture.gateway.rows(tenant.id, "&tag=team%3Dsear")).toEqual([]);
    const csv = await fixture.gateway.admin("GET", `/usage/logs?tenant_id=${tenant.id}&format=csv`);
    expect(await csv.text()).toContain('"env=prod,team=search",u-1');
    const sums = `tenant_id=${tenant.id}&group_by=tag&tag_name=team`;
    expect(await fixture.gateway.must<readonly UsageTotals[]>("GET", `/usage?${sums}`)).toMatchObject([
      { tag_value: "search", requests: 1 },
    ]);
    const daily = `/usage/daily?tenant_id=${tenant.id}&group_by=end_user`;
    expect(await fixture.gateway.must<readonly DailyUsage[]>("GET", daily)).toMatchObject([
      { end_user: "u-1", tenant_id: tenant.id, tenant_name: tenant.name, requests: 1, cost_usd: row.cost_usd },
    ]);
  });

  it("that are not valid are refused before the upstream, in the row of the tenant", async () => {
    const minted = await mintAt(fixture.gateway, upstream, {});
    const response = await fixture.gateway.chat(minted, { headers: { "x-gateway-tags": "team=a,team=b" } });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: {
        error: {
          code: "validation_failed",
          param: "x-gateway-tags",
          message: "x-gateway-tags must have 'team' only once",
        },
      },
    });
    expect(upstream.seen(minted.mark)).toEqual([]);
    expect(await rowOf(minted, response)).toMatchObject({
      tags: "",
      status_code: 400,
      error_code: "validation_failed",
    });
  });

  it("are asked for only after the key: a wrong key is 401", { tags: ["check"] }, async () => {
    const minted = { secret: "sk_wrong", mark: "m", model: { model_name: "m" } };
    const response = await fixture.gateway.chat(minted, { headers: { "x-gateway-tags": "team" } });
    expect({ status: response.status }).toEqual({ status: 401 });
  });
});

describe("the end user of a request", () => {
  it.each([
    ["chat", "/v1/chat/completions", { messages: [], user: "u-1", safety_identifier: "s-1" }, "u-1"],
    ["a response", "/v1/responses", { input: "x", safety_identifier: "s-1" }, "s-1"],
    ["a message", "/v1/messages", { messages: [], max_tokens: 1, metadata: { user_id: "m-1" } }, "m-1"],
  ])("of %s is in its row", { tags: ["check"] }, async (_, path, body, endUser) => {
    const minted = await mintAt(fixture.gateway, upstream, speaking(path));
    const response = await post(minted, path, { model: minted.model.model_name, ...body });
    await response.text();
    expect(await rowOf(minted, response)).toMatchObject({ end_user: endUser, tags: "" });
  });

  it.each(["user", "safety_identifier"])(
    "of a form is in its row, as its field %s",
    { tags: ["check"] },
    async (field) => {
      const minted = await mintAt(fixture.gateway, upstream, {});
      const form = new FormData();
      form.set("model", minted.model.model_name);
      form.set("file", new File(["x"], "x.wav"));
      form.set(field, "u-1");
      const response = await post(minted, "/v1/audio/transcriptions", form, { "x-gateway-tags": "team=a" });
      await response.text();
      expect(await rowOf(minted, response)).toMatchObject({ end_user: "u-1", tags: "team=a" });
    },
  );
});
