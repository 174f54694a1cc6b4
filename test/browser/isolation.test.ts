/**
 * Nobody reaches by a browser what their role and tenant do not allow (docs/rules/console.md#live): one pass over every path, by
 * `fetch` from a page, with the cookies and headers that a browser sends. The cases of single rules are in
 * control/dashboard/live.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import type { LiveRoute } from "../../control/api/access.ts";
import { managementLiveRoutes } from "../../control/app.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useConsole } from "../harness/browser/use-console.ts";

const LIVE_ROUTES = managementLiveRoutes();
const fixture = useConsole();
const { url } = fixture;

interface Asked {
  readonly method: string;
  readonly path: string;
}
interface Answered {
  readonly path: string;
  readonly status: number;
  readonly code: string | null;
  readonly text: string;
}

/** Asks from a page. */
async function askAll(page: Page, asked: readonly Asked[]): Promise<readonly Answered[]> {
  return await page.evaluate(async (all) => {
    const ask = async ({ method, path }: Asked): Promise<Answered> => {
      const init = method === "GET" ? {} : { method, body: "{}", headers: { "content-type": "application/json" } };
      const answer = await fetch(`/api/live${path}`, init);
      const text = await answer.text();
      const code = answer.ok ? null : (JSON.parse(text) as { error: { code: string } }).error.code;
      return { path: `${method} ${path}`, status: answer.status, code, text };
    };
    return await Promise.all(all.map(ask));
  }, asked);
}
const at = (id: string) => (rule: LiveRoute) => ({
  method: rule.method,
  path: rule.path.replace(/\{\w+\}/g, encodeURIComponent(id)),
});
const said = (answers: readonly Answered[]) => answers.map(({ path, status, code }) => [path, status, code]);

async function tenantWithKey() {
  const name = `other-${crypto.randomUUID()}`;
  const tenant = await fixture.gateway.must<Tenant>("POST", "/tenants", { name });
  const { key } = await fixture.gateway.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { name });
  return { tenant, key };
}

describe("by any path, from a page,", () => {
  it.each([
    ["nobody", 401, "signed_out"],
    ["pending", 403, "account_pending"],
    ["user without tenant", 403, null],
  ] as const)("%s gets nothing", async (as, status, code) => {
    const { page } = await fixture.open({ as });
    await page.goto("/sign-in");
    const asked = LIVE_ROUTES.map(at(crypto.randomUUID()));
    const expected = LIVE_ROUTES.map(({ user }) => code ?? (user === undefined ? "forbidden" : "no_tenant"));
    expect(said(await askAll(page, asked))).toEqual(
      asked.map(({ method, path }, nth) => [`${method} ${path}`, status, expected[nth]]),
    );
  });

  it("a user gets nothing of admins and nothing of another tenant, and changes nothing there", async () => {
    const other = await tenantWithKey();
    const { page, tenant } = await fixture.open({ as: "user" });
    await page.goto("/logs");
    const asked = LIVE_ROUTES.map((rule) => at(rule.user === "key in path" ? other.key.id : other.tenant.id)(rule));
    const answers = await askAll(page, asked);
    for (const [nth, { path, status, text }] of answers.entries()) {
      expect(`${path} ${text}`.replace(asked[nth]?.path ?? "", "")).not.toMatch(
        new RegExp(`${other.tenant.id}|${other.key.id}`),
      );
      const { user } = LIVE_ROUTES[nth] as LiveRoute;
      if (user === undefined) expect({ path, status }).toEqual({ path, status: 403 });
      else if (user === "tenant in path" || user === "key in path")
        expect({ path, status }).toEqual({ path, status: 404 });
    }
    const keys = await fixture.gateway.must<object[]>("GET", `/tenants/${other.tenant.id}/keys`);
    expect(keys).toMatchObject([{ id: other.key.id, disabled: false }]);
    const [own] = await askAll(page, [{ method: "GET", path: `/tenants/${tenant?.id}` }]);
    expect(own?.status).toBe(200);
  });

  it("a user gets the own tenant's rows alone, by any filter, page, form or spelling", async () => {
    const { gateway, upstream } = fixture;
    const { page, tenant } = await fixture.open({ as: "user" });
    await page.goto("/portal");
    const theirs = await gateway.mint(upstream.url, "plain");
    const ownKey = await gateway.must<CreatedKey>("POST", `/tenants/${tenant?.id}/keys`, { name: "ours" });
    const ours = { ...(await gateway.mint(upstream.url, "plain")), secret: ownKey.secret, key: ownKey.key };
    await gateway.must("PATCH", `/tenants/${tenant?.id}/allowlist`, { allowed_models: [ours.model.model_name] });
    const call = async (minted: typeof theirs): Promise<string> => {
      const answer = await gateway.chat(minted);
      expect({ status: answer.status, hasBody: (await answer.text()).length > 0 }).toEqual({
        status: 200,
        hasBody: true,
      });
      return answer.headers.get("x-gateway-request-id") ?? "";
    };
    const [theirId, ownId] = [await call(theirs), await call(ours)];
    const row = await gateway.row(theirs.tenant.id, theirId);
    await gateway.row(tenant?.id ?? "", ownId);
    const cursors = await Promise.all(
      ["/keys?limit=1", `/tenants/${theirs.tenant.id}/keys?limit=1`, "/tenants?limit=1"].map(async (path) => {
        const { headers } = await gateway.admin("GET", path);
        return /cursor=([^&>]+)/.exec(headers.get("link") ?? "")?.[1] ?? "e30";
      }),
    );
    const filters = [
      `tenant_id=${theirs.tenant.id}`,
      `tenant_id=${theirs.tenant.id}&tenant_id=${tenant?.id}`,
      `tenant%5Fid=${theirs.tenant.id}`,
      `tenant_id%5B%5D=${theirs.tenant.id}`,
      `Tenant_Id=${theirs.tenant.id.toUpperCase()}`,
      `tenant_id=`,
      `key_id=${theirs.key.id}`,
      `model=${theirs.model.model_name}`,
      `request_id=${theirId}`,
      `session_id=${row.session_id}`,
      `before_ms=${row.ts_ms + 1}&before_request_id=${theirId}`,
      ...cursors.map((cursor) => `cursor=${cursor}`),
      "include_internal=true",
      "group_by=tenant",
      "group_by=key",
      "group_by=model",
      "limit=1000",
    ];
    const reads = LIVE_ROUTES.filter(({ method, user }) => method === "GET" && user !== undefined);
    const asked = reads.flatMap((rule) => {
      const id = rule.user === "tenant in path" ? tenant?.id : rule.user === "key in path" ? ownKey.key.id : theirId;
      const { path } = at(id ?? "")(rule);
      return filters.flatMap((filter) => ["", "&format=csv"].map((form) => `${path}?${filter}${form}`));
    });
    asked.push(
      `/tenants/${theirs.tenant.id}`,
      `/tenants/${tenant?.id}%2F..%2F${theirs.tenant.id}`,
      `/tenants/${theirs.tenant.id.toUpperCase()}/keys`,
      `//tenants/${theirs.tenant.id}`,
      `/TENANTS/${theirs.tenant.id}`,
      `/tenants/${theirs.tenant.id}/`,
      `/tenants/${theirs.tenant.id};/keys`,
      `/keys/${theirs.key.id}/usage`,
      `/usage/logs/${theirId}`,
      `/usage/logs/${theirId}/spans`,
      `/usage/logs/${theirId.toUpperCase()}`,
    );
    const all = await askAll(
      page,
      asked.map((path) => ({ method: "GET", path })),
    );
    const secret = [theirs.tenant.id, theirs.mark, theirs.key.id, theirs.key.key_prefix, theirId, upstream.url];
    for (const { path, status, text } of all) {
      expect({ path, isAnswered: status < 500 }).toEqual({ path, isAnswered: true });
      expect({ path, leaked: secret.filter((one) => text.toLowerCase().includes(one.toLowerCase())) }).toEqual({
        path,
        leaked: [],
      });
    }
    // That there is something to be found: the same reads have the own rows.
    expect(all.filter(({ text }) => text.includes(ownId)).length).toBeGreaterThan(5);
    const body = { tenant_id: theirs.tenant.id, allowed_models: [theirs.model.model_name], name: "moved" };
    const moved = await page.evaluate(
      async ([path, json]) =>
        (await fetch(path ?? "", { method: "PUT", body: json ?? "", headers: { "content-type": "application/json" } }))
          .status,
      [`/api/live/keys/${ownKey.key.id}`, JSON.stringify(body)],
    );
    expect([200, 400]).toContain(moved);
    expect(await gateway.must("GET", `/keys/${ownKey.key.id}`)).toMatchObject({ tenant_id: tenant?.id });
    expect(await gateway.must<object[]>("GET", `/tenants/${theirs.tenant.id}/keys`)).toHaveLength(1);
  });

  it("a user finds nothing of the operator or another tenant by any documented read", async () => {
    const { gateway, upstream } = fixture;
    const { page, tenant } = await fixture.open({ as: "user" });
    await page.goto("/portal");
    const [theirs, served] = [await gateway.mint(upstream.url, "plain"), await gateway.mint(upstream.url, "plain")];
    const mark = randomUUID().slice(0, 8);
    const own = `/tenants/${tenant?.id}`;
    const group = { name: `group-${mark}`, weight: 7 };
    await gateway.must("POST", "/fairshare/groups", group);
    await gateway.must("PATCH", `${own}/group`, { fairshare_group: group.name });
    await gateway.must("PUT", own, { description: `noted-${mark}` });
    await gateway.must("PATCH", `${own}/allowlist`, { allowed_models: [served.model.model_name] });
    await gateway.must("POST", `/models/${served.model.id}/endpoints`, {
      name: `endpoint-${mark}`,
      api_base: `${upstream.url}/endpoint-${mark}`,
      enabled: false,
    });
    const { key, secret } = await gateway.must<CreatedKey>("POST", `${own}/keys`, { name: "ours" });
    const answer = await gateway.chat({ ...served, secret, key });
    await answer.text();
    const requestId = answer.headers.get("x-gateway-request-id") ?? "";
    await gateway.row(tenant?.id ?? "", requestId);
    await (await gateway.chat(theirs)).text();
    // After its own request: nothing judges it, and the policy is there to be read.
    const policy = { input_scanners: ["harm"], guard_model: `guard-${mark}`, fail_open: true };
    await gateway.must("PATCH", `${own}/guardrails`, { policy });

    const { paths } = await gateway.must<{ paths: Readonly<Record<string, object>> }>("GET", "/openapi.json");
    const reads = Object.entries(paths).flatMap(([path, methods]) =>
      "get" in methods ? [path.replace("/api/v1", "")] : [],
    );
    expect(reads.length).toBeGreaterThan(50);
    const day = new Date().toISOString().slice(0, 10);
    const ids = [tenant?.id, key.id, requestId, served.model.id, theirs.tenant.id, theirs.key.id, "default"];
    const queries = [
      "",
      "?format=csv",
      `?start_day=${day}&end_day=${day}`,
      "?group_by=model",
      "?include_internal=true",
    ];
    const asked = reads.flatMap((path) =>
      (path.includes("{") ? ids : [""]).flatMap((id) =>
        queries.map((query) => ({ method: "GET", path: `${path.replace(/\{\w+\}/g, id ?? "")}${query}` })),
      ),
    );
    const answers: Answered[] = [];
    for (let at = 0; at < asked.length; at += 50) answers.push(...(await askAll(page, asked.slice(at, at + 50))));
    const hidden = [
      mark,
      theirs.tenant.id,
      theirs.tenant.name,
      theirs.key.id,
      theirs.key.key_prefix,
      theirs.model.model_name,
      new URL(upstream.url).host,
      "energy_cost",
      "api_base",
      "endpoint",
      "fairshare_group",
      '"cell',
      ",cell",
    ];
    const found = answers.map(({ path, text, status }) => ({
      path,
      status,
      // What was asked for may be named in the answer. The endpoint of a batch is the route that its tenant has chosen.
      hidden: hidden.filter(
        (one) => text.includes(one) && !path.includes(one) && !(one === "endpoint" && path.startsWith("GET /batches")),
      ),
    }));
    expect(found.filter((one) => one.hidden.length > 0 || one.status >= 500)).toEqual([]);
    // That there is something to be found: the own rows and figures are there.
    expect(answers.filter(({ text }) => text.includes(served.model.model_name)).length).toBeGreaterThan(10);
    expect(answers.filter(({ text }) => text.includes("co2_g")).length).toBeGreaterThan(3);
  });

  it("an admin gets what is listed, and neither the token nor what is not listed", async () => {
    const { page, context } = await fixture.open({ as: "admin" });
    await page.goto("/logs");
    const reads = LIVE_ROUTES.filter(({ method, path }) => method === "GET" && !path.includes("{"));
    const answers = await askAll(page, reads.map(at("")));
    // A cell or store that is slow just now is not what is asked here.
    expect(answers.filter(({ status }) => [401, 403, 404].includes(status)).map(({ path }) => path)).toEqual([]);
    const hidden = [
      "/settings/jobsched/resolved",
      "/settings/jobsched/../jobsched/resolved",
      "/openapi.json",
      "/health",
    ];
    const [...closed] = await askAll(
      page,
      hidden.map((path) => ({ method: "GET", path })),
    );
    expect(closed.map(({ status }) => status)).toEqual(hidden.map(() => 404));
    const everything = [...answers, ...closed].map(({ text }) => text).join("\n");
    const cookies = JSON.stringify(await context.cookies());
    for (const token of [inject("adminToken"), inject("internalToken")])
      expect({
        inAnswers: everything.includes(token),
        inCookies: cookies.includes(token),
        inPage: (await page.content()).includes(token),
      }).toEqual({ inAnswers: false, inCookies: false, inPage: false });
  });
});

it("a same-site page of another origin can neither write, sign out nor frame the console", async () => {
  const foreign = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>x</title><body></body>");
  });
  await new Promise<void>((resolve) => foreign.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void foreign.close());
  const { page, context } = await fixture.open({ as: "admin" });
  await page.goto(`http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`);
  const name = `evil-${crypto.randomUUID()}`;
  await page.evaluate(
    async ([base, tenant]) => {
      const body = JSON.stringify({ name: tenant });
      // That the answer may not be read says nothing of what the request did.
      for (const path of ["/api/live/tenants", "/auth/sign-out"])
        await fetch(`${base}${path}`, { method: "POST", mode: "no-cors", credentials: "include", body }).catch(
          () => null,
        );
    },
    [url, name],
  );
  expect(await fixture.gateway.must<object[]>("GET", `/tenants?q=${name}`)).toEqual([]);
  const session = (await (await context.request.get(`${url}/api/session`)).json()) as { user: object | null };
  expect(session.user).not.toBeNull();

  const refused = page.waitForEvent("console", (message) => /frame/i.test(message.text()));
  await page.evaluate((address) => {
    const frame = document.createElement("iframe");
    frame.src = address;
    document.body.append(frame);
  }, `${url}/`);
  expect((await refused).text()).toContain("frame-ancestors 'none'");
});
