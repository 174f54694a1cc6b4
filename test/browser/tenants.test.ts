/** Tenants and their keys in a real browser: from nothing to a first request, and what two people do at the same time. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useConsole } from "../harness/browser/use-console.ts";

const fixture = useConsole();
const run = promisify(execFile);

const newTenant = async (fields: object = {}): Promise<Tenant> =>
  await fixture.gateway.must<Tenant>("POST", "/tenants", { name: `t-${randomUUID()}`, ...fields });
const tenantNow = async ({ id }: Tenant): Promise<Tenant> =>
  await fixture.gateway.must<Tenant>("GET", `/tenants/${id}`);

describe("from nothing to a first request", () => {
  it("creates a tenant and a key, runs the shown curl, and no longer shows the secret", async () => {
    await fixture.withoutModels();
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    const name = `new-${randomUUID()}`;
    await page.goto("/tenants");
    await page.getByRole("button", { name: "Create tenant" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill(name);
    const more = dialog.getByText("Weight and limits");
    await more.click();
    await dialog.getByLabel("Weight").fill("0");
    await more.click();
    await dialog.getByLabel("Weight").waitFor({ state: "hidden" });
    await dialog.getByRole("button", { name: "Create tenant" }).click();
    await dialog.getByText("must be a whole number from 1 to 1000000").waitFor();
    await dialog.getByLabel("Weight").fill("50");
    await dialog.getByRole("button", { name: "Create tenant" }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();

    await page.getByRole("tab", { name: "Keys" }).click();
    await page.getByRole("button", { name: "Create key" }).click();
    await dialog.getByLabel("Name", { exact: true }).fill("first");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Waiting for your first request").waitFor();
    const curl = (await page.locator("pre", { hasText: "curl" }).textContent()) ?? "";
    const secret = /sk_[0-9a-f]{48}/.exec(curl)?.[0] ?? "";
    expect(secret).not.toBe("");
    await fixture.gateway.confirmed("the key");
    await run("sh", ["-c", `${curl} --silent --max-time 30`]);
    await page.getByText(/Your request arrived\. Refused: .* \(404\)/).waitFor();
    expect(await page.getByRole("link", { name: "View request" }).getAttribute("href")).toMatch(/\/logs\?open=/);

    await page.keyboard.press("Escape");
    const asked = page.getByRole("alertdialog", { name: "Close without copying the secret?" });
    await asked.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("cell", { name: "first" }).waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.goBack();
    await page.goForward();
    await page.reload();
    await page.getByRole("cell", { name: "first" }).waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(visit.problems()).toEqual([]);
  });
});

it("the curl command is shown once the tenant's model is known", async () => {
  const { gateway } = fixture;
  const tenant = await newTenant();
  const model = await gateway.must<{ model_name: string }>("POST", "/models", {
    model_name: `m-${randomUUID()}`,
    api_base: "http://127.0.0.1:9/v1",
    health: { checks_enabled: false },
  });
  await gateway.must("PATCH", `/tenants/${tenant.id}/allowlist`, { allowed_models: [model.model_name] });
  const { page } = await fixture.open({ as: "admin" });
  const known = Promise.withResolvers<void>();
  await page.route("**/api/live/models?*", async (route) => {
    await known.promise;
    await route.continue();
  });
  await page.goto(`/tenants/${tenant.id}?tab=keys`);
  await page.getByRole("button", { name: "Create key" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("first");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByText("Waiting for your first request").waitFor();
  expect(await dialog.locator("pre", { hasText: "curl" }).count()).toBe(0);
  known.resolve();
  await dialog.locator("pre", { hasText: `"model":"${model.model_name}"` }).waitFor();
});

describe("two admins", () => {
  it("of one tenant: the second one sees the first one's change and keeps their own", async () => {
    const tenant = await newTenant({ organization: "before" });
    const { page } = await fixture.open({ as: "admin" });
    await page.goto(`/tenants/${tenant.id}?tab=edit`);
    await page.getByLabel("Organization").fill("mine");
    await fixture.gateway.must("PUT", `/tenants/${tenant.id}`, { organization: "theirs" });
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.getByText("Someone else changed this while you were editing").waitFor();
    expect((await tenantNow(tenant)).organization).toBe("theirs");
    await page.getByRole("button", { name: "Keep mine" }).click();
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.getByText(`Settings saved for ${tenant.name}`).waitFor();
    expect((await tenantNow(tenant)).organization).toBe("mine");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText(`Settings restored for ${tenant.name}`).waitFor();
    expect((await tenantNow(tenant)).organization).toBe("theirs");
  });
});

it.each(["tenant", "key"])("undo restores a removed budget of a %s with its start", async (kind) => {
  const budget = { budget_tokens: 1_000_000, budget_started_at: "2026-01-01T00:00:00.000Z" };
  const tenant = await newTenant(kind === "tenant" ? budget : {});
  const made = await fixture.gateway.must<{ key: { id: string } }>("POST", `/tenants/${tenant.id}/keys`, budget);
  const { page } = await fixture.open({ as: "admin" });
  const [path, address] =
    kind === "tenant"
      ? [`/tenants/${tenant.id}?tab=edit`, `/tenants/${tenant.id}`]
      : [`/keys?key_id=${made.key.id}`, `/keys/${made.key.id}`];
  const now = async () => await fixture.gateway.must<Record<string, unknown>>("GET", address);
  await page.goto(path);
  const form = page.locator("form").filter({ has: page.getByLabel("Budget in tokens") });
  await form.getByLabel("Budget in tokens").fill("");
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByText(/ saved for /).waitFor();
  expect(await now()).toMatchObject({ budget_tokens: null, budget_started_at: null });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText(/ restored for /).waitFor();
  expect(await now()).toMatchObject(budget);
});

describe("a tenant", () => {
  it("is suspended only after a question that says what ends", async () => {
    const tenant = await newTenant({});
    const { name } = tenant;
    const { page, problems } = await fixture.open({ as: "admin" });
    await page.goto(`/tenants?q=${name}`);
    const suspend = page.getByRole("button", { name: `Suspend: ${name}` });
    await suspend.click();
    const asked = page.getByRole("alertdialog", { name: `Suspend ${name}?` });
    await asked.getByText("Running requests: 0, waiting: 0. They end with 403").waitFor();
    await asked.getByRole("button", { name: "Cancel" }).click();
    expect((await tenantNow(tenant)).status).toBe("active");
    await suspend.click();
    await asked.getByRole("button", { name: "Suspend" }).click();
    await page.getByText(`${name} is suspended`).waitFor();
    expect((await tenantNow(tenant)).status).toBe("suspended");
    // nothing ends when access comes back
    await page.getByRole("button", { name: `Activate: ${name}` }).click();
    await page.getByText(`${name} is active`).waitFor();
    expect(problems()).toEqual([]);
  });

  it("opens its form at the budget from the budget's tab, and goes back there", async () => {
    const { id } = await newTenant({});
    const { page, problems } = await fixture.open({ as: "admin" });
    await page.setViewportSize({ width: 1280, height: 500 });
    await page.goto(`/tenants/${id}?tab=budget`);
    await page.getByRole("link", { name: "Raise the budget" }).click();
    const heading = page.getByRole("heading", { name: "Budget", exact: true });
    await heading.waitFor();
    await expect.poll(async () => (await heading.boundingBox())?.y ?? 9999).toBeLessThan(250);
    await page.getByRole("button", { name: "Back", exact: true }).click();
    await page.getByText("Used in this period").waitFor();
    expect(problems()).toEqual([]);
  });

  it("shows budget, schedule, policies, usage and changes, and says when it is deleted meanwhile", async () => {
    const tenant = await newTenant({ timezone: "Asia/Kolkata" });
    await fixture.gateway.must("PATCH", `/tenants/${tenant.id}/budget`, {
      budget_tokens: 10,
      budget_period: "monthly",
    });
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await page.goto(`/tenants/${tenant.id}?tab=budget`);
    await page.getByText("Asia/Kolkata (UTC+05:30)").first().waitFor();
    await page.getByText(/Resets 1 \w+ \d{4}, 00:00/).waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Budget in tokens").fill("0");
    await page.getByText("A limit of 0 tokens refuses every new request").waitFor();
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("button", { name: "Back", exact: true }).click();
    for (const [tab, words] of [
      ["Access", "Access is open."],
      ["Access", "All models."],
      ["Policies", "No policy: nothing is scanned."],
      ["Policies", "No policy: the gateway's settings apply."],
      ["Usage", "By day"],
      ["Activity", "created tenant"],
    ] as const) {
      await page.getByRole("tab", { name: tab }).click();
      await page.getByText(words).first().waitFor();
    }
    expect(visit.problems()).toEqual([]);
    await fixture.gateway.must("DELETE", `/tenants/${tenant.id}`);
    await page.goto(`/tenants/${tenant.id}`);
    await page.getByText("No such tenant").waitFor();
  });
});
