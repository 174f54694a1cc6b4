/** Models in a real browser: made after their connection was tested, put in order, edited by two, and deleted by name. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();
/** Nothing listens there. */
const NOWHERE = "http://127.0.0.1:9/v1";

const newModel = async (fields: object = {}): Promise<Model> =>
  await fixture.gateway.must<Model>("POST", "/models", {
    model_name: `m-${randomUUID()}`,
    api_base: NOWHERE,
    health: { checks_enabled: false },
    ...fields,
  });

describe("a model", () => {
  it("is created after a connection test, never shows its key, and is deleted by its name", async () => {
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    const name = `new-${randomUUID()}`;
    const secret = `key-${randomUUID()}`;
    await page.goto("/models");
    await page.getByRole("button", { name: "Create model" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill(name);
    await dialog.getByLabel("Base URL").fill(NOWHERE);
    await dialog.getByLabel("More endpoints").fill(`${NOWHERE}/second`);
    await dialog.getByLabel("Upstream API key").fill(secret);
    await dialog.getByRole("button", { name: "Create model" }).click();
    for (const address of [NOWHERE, `${NOWHERE}/second`])
      await dialog.getByText(`${address}:`, { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Create anyway" }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await page.getByRole("tab", { name: "Connection" }).click();
    await page.getByText("An API key is set. It is never shown.").waitFor();
    expect(await page.content()).not.toContain(secret);

    const [made] = await fixture.gateway.must<Model[]>("GET", `/models?q=${name}`);
    expect(made).toMatchObject({ model_name: name, upstream_model: name, api_base: NOWHERE, api_key_set: true });
    const endpoints = await fixture.gateway.must<{ api_base: string }[]>("GET", `/models/${made?.id}/endpoints`);
    expect(endpoints.map(({ api_base }) => api_base)).toEqual([NOWHERE, `${NOWHERE}/second`]);
    const tenant = await fixture.gateway.must<Tenant>("POST", "/tenants", { name: `t-${randomUUID()}` });
    await fixture.gateway.must("PATCH", `/tenants/${tenant.id}/allowlist`, { allowed_models: [name] });
    await page.getByRole("button", { name: "Delete" }).click();
    await dialog.getByText(new RegExp(`1 tenant or key may use no other model.*${tenant.name}`)).waitFor();
    const confirm = dialog.getByRole("button", { name: "Delete" });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel("Model name").fill(name);
    await confirm.click();
    await page.getByText(`${name} deleted`).waitFor();
    await page.goto(`/models/${made?.id}`);
    await page.getByText("No such model").waitFor();
  });

  it("has its endpoints in the order that keys and dragging give them, and back", async () => {
    const model = await newModel();
    for (const name of ["one", "two", "three"])
      await fixture.gateway.must("POST", `/models/${model.id}/endpoints`, { name, api_base: NOWHERE, enabled: false });
    const order = async (): Promise<readonly string[]> =>
      (await fixture.gateway.must<ModelEndpoint[]>("GET", `/models/${model.id}/endpoints`)).map(({ name }) => name);
    expect(await order()).toEqual(["one", "three", "two"]);
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await page.goto(`/models/${model.model_name}?tab=connection`);
    await page.getByRole("button", { name: "Move two with the up and down arrow keys" }).press("ArrowUp");
    await page.getByText("two is now number 2").waitFor();
    expect(await order()).toEqual(["one", "two", "three"]);
    expect(page.url()).toContain(model.id);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("two is back in its place").waitFor();
    expect(await order()).toEqual(["one", "three", "two"]);

    const rows = page.getByRole("table", { name: "Endpoints" }).locator("tbody tr[data-index]");
    const row = (name: string) => page.getByRole("table", { name: "Endpoints" }).getByRole("row", { name });
    // what is dragged goes by the rows that are seen
    await rows.nth(1).getByText("three", { exact: true }).waitFor();
    await page.locator("[data-handle]:not([aria-busy])").first().waitFor();
    await page.getByRole("button", { name: "Move one with the up and down arrow keys" }).dragTo(row("two"));
    await page.getByText("one is now number 3").waitFor();
    expect(await order()).toEqual(["three", "two", "one"]);
    await page.locator("[data-handle]:not([aria-busy])").first().waitFor();
    await page.getByRole("button", { name: "Move one with the up and down arrow keys" }).press("ArrowUp");
    await page.getByText("one is now number 2").waitFor();
    await page.locator("[data-handle]:not([aria-busy])").first().waitFor();
    // the handle that was pressed keeps the focus, so that the next press moves the same endpoint
    await page.keyboard.press("ArrowUp");
    await page.getByText("one is now number 1").waitFor();
    expect(await order()).toEqual(["one", "three", "two"]);
    expect(visit.problems()).toEqual([]);
  });

  it("is not saved with a number that was emptied, and tells what the server warns of", async () => {
    const { page } = await fixture.open({ as: "admin" });
    const model = await newModel({ api_key: `key-${randomUUID()}` });
    await page.goto(`/models/${model.id}?tab=edit`);
    await page.getByLabel("Context window").fill("");
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.getByRole("alert").filter({ hasText: "Required" }).waitFor();

    await page.goto(`/models/${model.id}?tab=edit`);
    await page.getByLabel("Base URL").first().fill("http://127.0.0.1:10/v1");
    await page.getByRole("button", { name: "Save" }).first().click();
    await page
      .getByText(/key/i)
      .filter({ hasText: /kept|other|host|origin|moved/i })
      .first()
      .waitFor();
  });

  it("that two admins edit: the second is shown what the first has saved", async () => {
    const model = await newModel({ description: "before" });
    const { page } = await fixture.open({ as: "admin" });
    await page.goto(`/models/${model.id}?tab=edit`);
    await page.getByLabel("Description").fill("mine");
    const body = { upstream_model: model.upstream_model, api_base: `${NOWHERE}/theirs` };
    await fixture.gateway.must("PUT", `/models/${model.id}`, { ...body, description: "theirs" });
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.getByText("Someone else changed this while you were editing").waitFor();
    await page.getByRole("button", { name: "Keep mine" }).click();
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.getByText(`Settings saved for ${model.model_name}`).waitFor();
    const now = await fixture.gateway.must<Model>("GET", `/models/${model.id}`);
    expect(now).toMatchObject({ description: "mine", api_base: body.api_base });
  });

  it("shows each of its parts", async () => {
    const model = await newModel();
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await page.goto(`/models/${model.id}`);
    for (const [tab, words] of [
      ["Reliability and cache", "Endpoint selection"],
      ["Reliability and cache", "Hit rate"],
      ["Capacity", "0 in use, 0 waiting; no limit of its own"],
      ["Add-ons and tools", "Capabilities"],
      ["Health", "Health checks"],
      ["Usage", "By key"],
      ["Activity", "created model"],
    ] as const) {
      await page.getByRole("tab", { name: tab }).click();
      await page.getByText(words).first().waitFor();
    }
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Max concurrency").fill("4");
    await page.getByLabel("Input cost (USD per 1M tokens)", { exact: true }).fill("0.15");
    const changes = page.getByRole("region", { name: "What will change" });
    await changes.getByText("Max concurrency").waitFor();
    expect((await changes.getByRole("listitem").allInnerTexts()).toSorted()).toEqual([
      "Input cost (USD per 1M tokens) 0 → 0.15",
      "Max concurrency No limit → 4",
    ]);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText(`Settings saved for ${model.model_name}`).waitFor();
    expect(await fixture.gateway.must<Model>("GET", `/models/${model.id}`)).toMatchObject({
      input_cost_per_token: 1.5e-7,
    });
    await waitFor(
      async () => (await fixture.gateway.must<Model>("GET", `/models/${model.id}`)).max_in_flight,
      (max) => max === 4,
    );
    expect(visit.problems()).toEqual([]);
  });

  it("is tuned: its ladder is drawn, and what was found is set and taken back", async () => {
    const { gateway, upstream } = fixture;
    const { model } = await gateway.mint(upstream.url);
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await page.goto(`/models/${model.id}?tab=capacity`);
    await page.getByLabel("Highest concurrency to test").fill("many");
    await page.getByRole("button", { name: "Find the best concurrency" }).click();
    await page.locator("[aria-invalid=true]").waitFor();
    await page.getByLabel("Highest concurrency to test").fill("2");
    await page.getByRole("button", { name: "Find the best concurrency" }).click();
    await page.getByText("Running: each step takes a few seconds.").waitFor();
    const ladder = page.getByRole("table", { name: "Test steps" });
    await ladder.locator("tbody tr").first().waitFor();
    expect(await page.locator("svg circle, svg rect, svg path").count()).toBeGreaterThan(0);
    const apply = page.getByRole("button", { name: /^Set max concurrency to/ });
    const count = Number(/\d+/.exec((await apply.textContent()) ?? "")?.[0]);
    await apply.click();
    await page.getByText(`Max concurrency of ${model.model_name} set to ${count}`).waitFor();
    expect(await gateway.must<Model>("GET", `/models/${model.id}`)).toMatchObject({
      max_in_flight: count,
      capacity_mode: "tuned",
    });
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText(`Max concurrency of ${model.model_name} restored`).waitFor();
    expect(await gateway.must<Model>("GET", `/models/${model.id}`)).toMatchObject({
      max_in_flight: model.max_in_flight,
      capacity_mode: "static",
    });
    expect(visit.problems()).toEqual([]);
  });

  it("that the gateway runs shows the history of its replicas; another one shows none", async () => {
    const model = await newModel();
    const spec = { partition: "gpu", launch_command: "exec serve", serving_port: 8000, target_replicas: 0 };
    await fixture.gateway.must("PUT", `/models/${model.id}/managed`, spec);
    const replica = await fixture.gateway.must<{ id: string }>("POST", `/models/${model.id}/replicas`, {
      intent_id: randomUUID(),
      port_base: 8000,
    });
    await fixture.gateway.must("PATCH", `/replicas/${replica.id}`, { state: "lost", message: "node n01 went away" });
    const { page } = await fixture.open({ as: "admin" });
    await page.goto(`/models/${model.id}?tab=history`);
    const events = page.getByRole("table", { name: "Replica history" });
    await events.getByText(/node n01 went away/).waitFor();
    await events.getByText(/pending → lost/).waitFor();
    await fixture.gateway.must("DELETE", `/models/${model.id}/managed`);
    await fixture.gateway.must("DELETE", `/replicas/${replica.id}`);
    await page.goto(`/models/${(await newModel()).id}?tab=history`);
    await page.getByRole("table", { name: "Activity" }).getByText("created model").waitFor();
    expect(await events.count()).toBe(0);
  });
});
