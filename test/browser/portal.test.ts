/** The portal: what a tenant's people see of their own tenant, what they do there, and that nothing of others is in it. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { PROVIDER } from "../harness/browser/browser-setup.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { usersOf } from "../harness/browser/users-of.ts";
import { PERSON_HEADER } from "../harness/sign-in-provider.ts";
import { waitFor } from "../harness/wait-for.ts";
import { Walk } from "./walks/walk.ts";
import { walkAsTenant } from "./walks/walk-tenant.ts";

const fixture = useConsole();

const { modelOf, userWithModel, newKey, call } = usersOf(fixture);

describe("the first page of a user", () => {
  it("says whether applications can call, and follows what changes", async () => {
    const { visit, tenant } = await userWithModel();
    const { page } = visit;
    await page.goto("/");
    await page.waitForURL(`${visit.url}/portal`);
    await page.getByText("No: there is no key yet.").waitFor();
    await newKey(tenant, "one");
    await page.reload();
    await page.getByText("Yes: your applications can call now.").waitFor();
    await fixture.gateway.must("PATCH", `/tenants/${tenant.id}/budget`, { budget_tokens: 0, budget_period: "monthly" });
    await page.reload();
    await page.getByText("No: the budget is used up").waitFor();
    await fixture.gateway.must("PATCH", `/tenants/${tenant.id}/status`, { status: "suspended" });
    await page.reload();
    await page.getByText("the tenant is not active").first().waitFor();
    expect(visit.problems()).toEqual([]);
  });

  it("is not an admin's, and a page of admins is not a user's", async () => {
    const admin = await fixture.open({ as: "admin" });
    await admin.page.goto("/portal/limits");
    await admin.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    const { page, problems } = await fixture.open({ as: "user" });
    await page.goto("/fairshare");
    await page.getByRole("heading", { name: "You cannot see this page" }).waitFor();
    await page.getByRole("link", { name: "Go to the start page" }).click();
    await page.waitForURL(/\/portal$/);
    expect(problems()).toEqual([]);
  });
});

it("the limits of a tenant are listed with what is left and when it resets", async () => {
  const { visit, tenant, model } = await userWithModel();
  const { gateway } = fixture;
  await gateway.must("PATCH", `/tenants/${tenant.id}`, {
    tokens_per_minute: 90_000,
    max_in_flight: 7,
    budget_tokens: 1_000_000,
    budget_period: "monthly",
  });
  const { key, secret } = await newKey(tenant, "bounded");
  await gateway.must("PATCH", `/keys/${key.id}`, { requests_per_minute: 30 });
  expect((await call(secret, model)).status).toBe(200);
  const used = await waitFor(
    async () =>
      await gateway.must<{ used_tokens: number; reserved_tokens: number; remaining_tokens: number }>(
        "GET",
        `/tenants/${tenant.id}/budget/usage`,
      ),
    ({ used_tokens, reserved_tokens }) => used_tokens > 0 && reserved_tokens === 0,
  );
  const { page } = visit;
  await page.goto("/portal");
  await page.getByRole("link", { name: "Budget left" }).click();
  const row = (name: string) => page.getByRole("table", { name: "All keys" }).getByRole("row", { name });
  const [usedNow, left] = [used.used_tokens, used.remaining_tokens].map((tokens) => tokens.toLocaleString("en"));
  await row(`Budget in tokens 1,000,000 ${usedNow} ${left} Resets 1 `).waitFor();
  await page.getByText("No limit: Budget in USD, Requests per minute.").waitFor();
  await row("Tokens per minute 90,000").waitFor();
  await row("Concurrent requests 7 per region 0 7 ").waitFor();
  await page.getByText("0 running, 0 waiting.").waitFor();
  await page
    .getByRole("table", { name: "By key" })
    .getByRole("row", { name: "bounded Requests per minute: 30 No limit" })
    .waitFor();
  expect(visit.problems()).toEqual([]);
});

it("a tenant's pages show use, price and code of the own tenant, and a file with the same sums", async () => {
  const { visit, tenant, model } = await userWithModel();
  const { page } = visit;
  const { secret } = await newKey(tenant, "notebooks");
  expect((await call(secret, model)).status).toBe(200);
  await waitFor(
    async () => await fixture.gateway.must<readonly object[]>("GET", `/usage/daily?tenant_id=${tenant.id}`),
    (rows) => rows.length === 1,
  );
  // the address that usage had before it was one page with costs
  await page.goto("/portal/usage?period=7d");
  await page.waitForURL(/\/reports\?period=7d$/);
  await page.getByRole("heading", { level: 1, name: "Usage and costs" }).waitFor();
  await page.getByRole("table", { name: "By model" }).getByRole("cell", { name: model }).waitFor();
  await page.goto("/reports?by=key");
  const byKey = page.getByRole("table", { name: "By key" });
  await byKey.getByRole("cell", { name: "notebooks" }).waitFor();
  const download = page.waitForEvent("download");
  await page.getByTitle("All rows and figures of this table, as CSV").click();
  const stream = await (await download).createReadStream();
  const file = Buffer.concat(await stream.toArray()).toString();
  const [head = "", row = "", ...rest] = file.trim().split("\r\n");
  const of = (name: string): string | undefined => row.split(",")[head.split(",").indexOf(name)];
  expect({ requests: of("requests"), keyName: of("key_name"), rest }).toEqual({
    requests: "1",
    keyName: "notebooks",
    rest: [],
  });

  const heads = await byKey.getByRole("columnheader").allInnerTexts();
  expect({ hasKey: heads.includes("Key"), hasTenant: heads.includes("Tenant") }).toEqual({
    hasKey: true,
    hasTenant: false,
  });

  await page.getByRole("link", { name: "Models", exact: true }).click();
  const listed = page.getByRole("row", { name: model });
  await listed.getByText("$1.00 per million input tokens, output: no price").waitFor();
  await listed.getByText("images").waitFor();
  await listed.getByRole("link", { name: model }).click();
  const opened = page.getByRole("complementary", { name: "Model" });
  await opened.getByText("$1.00 per million input tokens, output: no price").waitFor();
  const line = opened.locator("pre", { hasText: `${fixture.gateway.proxyUrl}/v1/chat/completions` });
  expect(await line.textContent()).toContain(model);
  await opened.getByRole("link", { name: "Code in other languages" }).click();
  await page.getByRole("tab", { name: "AI SDK" }).click();
  await page.waitForURL(/code=aiSdk/);
  await page.reload();
  const code = page.locator("pre", { hasText: "generateText" });
  await code.waitFor();
  expect(await code.textContent()).toContain(`${fixture.gateway.proxyUrl}/v1`);
  expect(await code.textContent()).toContain(model);
  await page.getByLabel("Key", { exact: true }).selectOption("notebooks");
  await page.getByText("Put the secret of notebooks").waitFor();

  await page.getByLabel("Route", { exact: true }).selectOption("Responses");
  await page.getByRole("tab", { name: "Python" }).click();
  const responses = page.locator("pre", { hasText: "client.responses.create" });
  await responses.waitFor();
  expect(await responses.textContent()).toContain(`base_url="${fixture.gateway.proxyUrl}/v1"`);
  expect(await responses.textContent()).toContain(model);
  await page.getByLabel("Route", { exact: true }).selectOption("Speech");
  await page.getByText("None of your models serves this route.").waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Code for /v1/audio/speech" }).waitFor();
  expect(visit.problems()).toEqual([]);
});

it("a model without a price is said to have none, and never to be free", async () => {
  const { visit, tenant, model } = await userWithModel();
  const { page } = visit;
  const [{ id } = { id: "" }] = await fixture.gateway.must<readonly { id: string }[]>("GET", `/models?q=${model}`);
  const stored = await fixture.gateway.must<Record<string, unknown>>("GET", `/models/${id}`);
  const { upstream_model, api_base } = stored;
  await fixture.gateway.must("PUT", `/models/${id}`, { upstream_model, api_base, input_cost_per_token: 0 });
  const { secret, key } = await newKey(tenant, "free of charge");
  expect((await call(secret, model)).status).toBe(200);
  await waitFor(
    async () => await fixture.gateway.must<readonly object[]>("GET", `/usage/daily?tenant_id=${tenant.id}`),
    (rows) => rows.length === 1,
  );
  await page.goto("/portal");
  await page.getByText("0 refused, 0 failed, no price").waitFor();
  await page.goto("/portal/models");
  await page.getByRole("row", { name: model }).getByText("No price set").waitFor();
  for (const path of ["/portal/models", "/reports", "/logs", `/keys?key_id=${key.id}`]) {
    await page.goto(path);
    await page.locator("h1").waitFor();
    await page.waitForLoadState("networkidle");
    const shown = page.getByRole("main").or(page.getByRole("complementary"));
    const lines = (await shown.allInnerTexts()).join("\n").split("\n");
    // What a budget has counted is 0, whatever its requests would have cost.
    expect({ path, freeLines: lines.filter((line) => /\$0\.00\b/.test(line) && !/budget|used/i.test(line)) }).toEqual({
      path,
      freeLines: [],
    });
  }
  expect(visit.problems()).toEqual([]);
});

it("a user rotates, disables and enables the own key, and the data plane follows at once", async () => {
  const { visit, tenant, model } = await userWithModel();
  const { page } = visit;
  const { key, secret } = await newKey(tenant, "own");
  const statusWith = async (one: string): Promise<number> => {
    await fixture.gateway.confirmed("what the page has written");
    return (await call(one, model)).status;
  };
  await page.goto(`/keys?key_id=${key.id}`);
  await page.getByRole("button", { name: "Rotate" }).click();
  const asked = page.getByRole("dialog", { name: /^Rotate the secret of/ });
  await asked.getByLabel("Old secret stays valid for").selectOption("0");
  await asked.getByRole("button", { name: "Rotate" }).click();
  const told = page.getByRole("dialog", { name: /^Secret key for/ });
  await told.getByText("Copy the secret now.").waitFor();
  const next = /sk_[0-9a-f]{48}/.exec((await told.textContent()) ?? "")?.[0] ?? "";
  await told.getByRole("button", { name: "Done" }).click();
  expect({ oldStatus: await statusWith(secret), newStatus: await statusWith(next) }).toEqual({
    oldStatus: 401,
    newStatus: 200,
  });
  await page.getByRole("button", { name: "Disable", exact: true }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Disable" }).click();
  await page.getByRole("button", { name: "Enable", exact: true }).waitFor();
  expect(await statusWith(next)).toBe(403);
  await page.goto("/portal");
  await page.getByText("No: every key").waitFor();
  await page.goBack();
  await page.getByRole("button", { name: "Enable", exact: true }).click();
  await page.getByRole("button", { name: "Disable", exact: true }).waitFor();
  expect(await statusWith(next)).toBe(200);
  const changes = await fixture.gateway.must<readonly object[]>("GET", `/audit?entity_id=${key.id}`);
  expect(changes).toMatchObject(
    ["enable_key", "disable_key", "rotate_key"]
      .map((action) => ({ action, actor: visit.user?.email }))
      .concat([{ action: "create_key", actor: "admin" }]),
  );
  expect(visit.problems()).toEqual([]);
});

it("every page of a user has links, no admin controls and nothing of others or upstreams", async () => {
  const { visit, tenant, model } = await userWithModel();
  const { page } = visit;
  const other = await userWithModel();
  const otherKey = await newKey(other.tenant, "theirs");
  const { key, secret } = await newKey(tenant, "ours");
  expect((await call(secret, model)).status).toBe(200);
  expect((await call(otherKey.secret, other.model)).status).toBe(200);
  const answers: Promise<string>[] = [];
  page.on("response", (response) => {
    if (!response.url().includes("/api/")) return;
    answers.push(
      response.text().then(
        (text) => `${response.url()} ${text}`,
        () => "",
      ),
    );
  });
  const pages = [
    "/portal",
    "/portal/models",
    "/portal/limits",
    "/reports",
    "/portal/guide",
    "/keys",
    `/keys?key_id=${key.id}`,
    "/logs",
  ];
  const own = `/tenants/${tenant.id}?tab=`;
  pages.push(...["overview", "access", "policies", "usage"].map((tab) => own + tab));
  /** By page and names of parameters: links that differ in a value alone lead to the same view. */
  const linked = new Map<string, string>();
  for (const path of pages) {
    await page.goto(path);
    await page.locator("h1").waitFor();
    await page.waitForLoadState("networkidle");
    // all at once: a link may go while they are read one by one
    const hrefs = await page
      .getByRole("link")
      .evaluateAll((links) => links.map((one) => one.getAttribute("href") ?? ""));
    for (const href of hrefs) {
      const { pathname, search } = new URL(href, visit.url);
      if (/^\/(?!api\/)/.test(href)) linked.set([pathname, ...new URLSearchParams(search).keys()].join(" "), href);
    }
    expect({
      path,
      adminButtons: await page.getByRole("button", { name: /Save|Delete tenant|Start tracing|Suspend/ }).count(),
    }).toEqual({ path, adminButtons: path.includes("key_id") ? 1 : 0 });
  }
  for (const path of [...linked.values()].filter((one) => !pages.includes(one))) {
    await page.goto(path);
    await page.getByRole("main").getByRole("heading").first().waitFor();
    expect({ path, deadEnds: await page.getByText(/No such|Page not found|You cannot see/).count() }).toEqual({
      path,
      deadEnds: 0,
    });
  }
  const everything = (await Promise.all(answers)).join("\n");
  expect(everything).toContain(model);
  const hidden = [
    other.tenant.id,
    other.tenant.name,
    otherKey.key.id,
    other.model,
    fixture.upstream.url,
    "api_base",
    "endpoint",
  ];
  expect(hidden.filter((text) => everything.includes(text))).toEqual([]);
  expect(visit.problems()).toEqual([]);
});

it("from invitation to first token takes a dozen clicks", async () => {
  const sub = `new-${randomUUID()}`;
  const email = `${sub}@example.org`;
  const tenant = await fixture.gateway.must<Tenant>("POST", "/tenants", { name: `tenant of ${sub}` });
  await modelOf(tenant);
  const admin = await fixture.open({ as: "admin" });
  const person = await fixture.open();
  await person.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await person.context.setExtraHTTPHeaders({
    [PERSON_HEADER]: JSON.stringify({ sub, email, name: "Ann", email_verified: true }),
  });
  await admin.page.goto("/");
  await person.page.goto("/sign-in");
  const walk = new Walk(async () => undefined);
  const people = { admin: admin.page, person: person.page, email, tenantName: tenant.name };
  const answer = await walkAsTenant({ walk, gateway: fixture.gateway, providerName: PROVIDER.name, ...people });
  expect(answer).toContain("hello world");
  expect(walk.clicks).toBeLessThanOrEqual(12);
  expect([...admin.problems(), ...person.problems()]).toEqual([]);
});

it("a user's search finds the own models and keys, and leads to them", async () => {
  const { visit, tenant, model } = await userWithModel();
  const { key } = await newKey(tenant, `notebooks-${randomUUID()}`);
  const { page } = visit;
  const find = async (name: string, what: string): Promise<void> => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill(name);
    await page.getByRole("option", { name: `${name} ${what}` }).click();
  };
  await page.goto("/portal/limits");
  await page.getByRole("heading", { level: 1, name: "Limits" }).waitFor();
  await find(model, "Models");
  await page.getByRole("complementary", { name: "Model" }).getByText(model).first().waitFor();
  await find(key.name, "Keys");
  await page.waitForURL(`**/keys?key_id=${key.id}`);
  expect(visit.problems()).toEqual([]);
});

it("the guide keeps its model when another route is chosen that can call it", async () => {
  const { visit, tenant, model } = await userWithModel();
  const other = await modelOf(tenant);
  await fixture.gateway.must("PATCH", `/tenants/${tenant.id}/allowlist`, { allowed_models: [model, other] });
  const { page } = visit;
  for (const name of [model, other]) {
    await page.goto(`/portal/guide?model=${name}`);
    await page.getByLabel("Route").selectOption("Responses");
    await page.getByRole("heading", { name: "Code for /v1/responses" }).waitFor();
    expect(await page.getByLabel("Model").inputValue()).toBe(name);
  }
});
