/** What was changed stands with the object itself, and the files of lists have what the lists show. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useConsole } from "../harness/browser/use-console.ts";

const console_ = useConsole();

it("a key, a user, an MCP server and a setting tell what was changed, and by whom", async () => {
  const { gateway } = console_;
  const { user } = await console_.open({ as: "user" });
  const tenant = await gateway.must<Tenant>("POST", "/tenants", { name: `changed-${randomUUID()}` });
  const { key } = await gateway.must<{ key: { id: string } }>("POST", `/tenants/${tenant.id}/keys`, { name: "first" });
  await gateway.must("PUT", `/keys/${key.id}`, { name: "second" });
  const upstream_url = "http://127.0.0.1:9/mcp";
  const server = await gateway.must<McpServer>("POST", "/mcp-servers", { name: `s-${randomUUID()}`, upstream_url });
  await gateway.must("PUT", `/mcp-servers/${server.id}`, { enabled: false });
  const { page, problems } = await console_.open({ as: "admin" });
  const changes = page.getByRole("table", { name: "Activity" });
  for (const [path, said] of [
    [`/keys?key_id=${key.id}`, "Name: first → second"],
    [`/mcp?server_id=${server.id}`, "Enabled: yes → no"],
    [`/users?user_id=${user?.id}`, "Awaiting approval → Active"],
  ] as const) {
    await page.goto(path);
    await changes.getByText(said).first().waitFor();
  }
  await page.goto("/settings?tab=retention");
  await page.getByLabel("Days").fill("77");
  await page.getByRole("button", { name: "Save" }).click();
  await changes.getByText(/→ 77/).first().waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await changes.getByText(/77 →/).first().waitFor();
  await page.goto("/settings?tab=backup");
  await page.getByRole("link", { name: "Download" }).waitFor();
  expect(await changes.count()).toBe(0);
  expect(problems()).toEqual([]);
});

it("a tenant's user reads no changes of a key, which are an admin's", async () => {
  const visit = await console_.open({ as: "user" });
  const { page, tenant, requests } = visit;
  const { key } = await console_.gateway.must<{ key: { id: string } }>("POST", `/tenants/${tenant?.id}/keys`, {});
  await page.goto(`/keys?key_id=${key.id}`);
  await page.getByRole("dialog").getByRole("heading", { name: "Budget", exact: true }).waitFor();
  expect(requests.filter((request) => request.includes("/audit"))).toEqual([]);
  expect(visit.problems()).toEqual([]);
});

it("every list has its file, with the rows that the filter of the API selects", async () => {
  const { gateway } = console_;
  const mark = randomUUID();
  const tenant = await gateway.must<Tenant>("POST", "/tenants", { name: `=csv-${mark}` });
  await gateway.must("POST", `/tenants/${tenant.id}/keys`, { name: `key-${mark}` });
  await gateway.must("POST", "/models", { model_name: `model-${mark}`, api_base: "http://127.0.0.1:9/v1" });
  const { page, context, url } = await console_.open({ as: "admin" });
  for (const [path, cell] of [
    [`/tenants?q=${mark}`, `'=csv-${mark}`],
    [`/keys?q=key-${mark}`, `key-${mark}`],
    [`/models?q=${mark}`, `model-${mark}`],
  ] as const) {
    await page.goto(path);
    const href = await page.getByRole("link", { name: "CSV", exact: true }).getAttribute("href");
    const file = await context.request.get(`${url}${href}`);
    expect(file.headers()["content-type"]).toMatch(/^text\/csv/);
    const [, ...rows] = (await file.text()).trimEnd().split("\r\n");
    expect(rows).toHaveLength(1);
    expect(rows[0]).toContain(cell);
  }
  for (const path of ["/users", "/mcp", "/deployments", "/deployments?tab=recipes", "/audit"]) {
    await page.goto(path);
    const href = await page.getByRole("link", { name: "CSV", exact: true }).getAttribute("href");
    expect((await context.request.get(`${url}${href}`)).headers()["content-type"], path).toMatch(/^text\/csv/);
  }
});

it("the models that a tenant may use are a file for its user", async () => {
  const name = `portal-${randomUUID()}`;
  await console_.gateway.must("POST", "/models", { model_name: name, api_base: "http://127.0.0.1:9/v1" });
  const { page, context, url } = await console_.open({ as: "user" });
  await page.goto("/portal/models");
  const href = await page.getByRole("link", { name: "CSV", exact: true }).getAttribute("href");
  const file = await (await context.request.get(`${url}${href}`)).text();
  expect(file).toContain(name);
  expect(file).not.toContain("127.0.0.1:9");
});

it("a key that is pressed as soon as there is something to see is taken", async () => {
  const { page } = await console_.open({ as: "admin" });
  await page.addInitScript(() => {
    const observer = new MutationObserver(() => {
      if (document.querySelector("nav") === null) return;
      observer.disconnect();
      document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }));
    });
    observer.observe(document, { childList: true, subtree: true });
  });
  await page.goto("/");
  await page.getByRole("dialog").getByRole("combobox").waitFor();
});

it("typing finds a model", async () => {
  const name = `found-${randomUUID()}`;
  await console_.gateway.must("POST", "/models", { model_name: name, api_base: "http://127.0.0.1:9/v1" });
  const { page } = await console_.open({ as: "admin" });
  await page.goto("/");
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill(name.slice(0, 20));
  await page.getByRole("option", { name: new RegExp(name) }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name }).waitFor();
});
