/** Undo after a save takes back what its form has saved, also when the record has changed elsewhere, and nothing of others. */
import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useConsole } from "../harness/browser/use-console.ts";

const fixture = useConsole();

const must = async <T = unknown>(method: string, path: string, body?: unknown): Promise<T> =>
  await fixture.gateway.must<T>(method, path, body);
const newTenant = async (): Promise<Tenant> => await must<Tenant>("POST", "/tenants", { name: `t-${randomUUID()}` });

/** Saves a value of a form, and returns the button that takes it back. */
async function save(page: Page, field: string, value: string): Promise<ReturnType<Page["getByRole"]>> {
  await page.locator("form").getByLabel(field, { exact: true }).first().fill(value);
  await page
    .locator("form")
    .filter({ has: page.getByLabel(field, { exact: true }) })
    .first()
    .getByRole("button", { name: "Save" })
    .click();
  const undo = page.getByRole("button", { name: "Undo" });
  await undo.waitFor();
  return undo;
}

const told = (page: Page, words: RegExp) => page.getByRole("region", { name: "Notifications" }).getByText(words);

describe("an undo", () => {
  it("takes back a change of a model that a health check has given another revision", async () => {
    const { id, retry_backoff_ms } = await must<Model>("POST", "/models", {
      model_name: `m-${randomUUID()}`,
      api_base: "http://127.0.0.1:9/v1",
      health: { checks_enabled: true },
    });
    const { page } = await fixture.open({ as: "admin" });
    await page.goto(`/models/${id}?tab=edit`);
    const undo = await save(page, "Wait before a retry (ms)", "700");
    const saved = await must<Model>("GET", `/models/${id}`);
    await must("PUT", `/models/${id}/health/config`, { checks_enabled: true, failure_threshold: 1 });
    await must("POST", `/models/${id}/health/check`);
    const checked = await must<Model>("GET", `/models/${id}`);
    await undo.click();
    await told(page, /restored for/).waitFor();
    const undone = await must<Model>("GET", `/models/${id}`);
    expect({
      saved: saved.retry_backoff_ms,
      isNewer: checked.rev > saved.rev,
      undone: undone.retry_backoff_ms,
    }).toEqual({ saved: 700, isNewer: true, undone: retry_backoff_ms });
  });

  it.each([
    {
      name: "a tenant's budget",
      field: "Budget in tokens",
      mine: "7",
      theirs: { budget_tokens: 5 },
      stored: 5,
    },
    {
      name: "a tenant's models",
      field: "Allowed models",
      mine: "mine",
      theirs: { allowed_models: ["theirs"] },
      stored: ["theirs"],
    },
  ])("of $name takes it back after a change of another field, and not of its own", async (form) => {
    const { field, mine, theirs, stored } = form;
    const { page } = await fixture.open({ as: "admin" });
    const own = Object.keys(theirs)[0] as keyof Tenant;
    const { id, [own]: before } = await newTenant();
    const now = async () => (await must<Tenant>("GET", `/tenants/${id}`))[own];
    await page.goto(`/tenants/${id}?tab=edit`);
    const first = await save(page, field, mine);
    await must("PATCH", `/tenants/${id}`, { weight: 3 });
    await first.click();
    await told(page, /restored for/).waitFor();
    expect(await now()).toEqual(before);
    await page.reload();
    const second = await save(page, field, mine);
    await must("PATCH", `/tenants/${id}`, theirs);
    await second.click();
    await told(page, /has changed since it was read/).waitFor();
    expect(await now()).toEqual(stored);
  });

  it("of a guardrails policy takes the whole policy away again, and keeps other fields", async () => {
    const { id } = await newTenant();
    const { page } = await fixture.open({ as: "admin" });
    await page.goto(`/tenants/${id}?tab=policies`);
    await page.getByRole("button", { name: "Set policy: Guardrails" }).click();
    await page.getByLabel("Personal data (PII)").first().check();
    const opened = await must<Tenant>("GET", `/tenants/${id}`);
    await page.getByRole("button", { name: "Save" }).click();
    const undo = page.getByRole("button", { name: "Undo" });
    await undo.waitFor();
    const { guardrails_policy: saved } = await must<Tenant>("GET", `/tenants/${id}`);
    await must("PATCH", `/tenants/${id}`, { weight: 3 });
    await undo.click();
    await told(page, /restored for/).waitFor();
    expect({ opened, saved, undone: await must<Tenant>("GET", `/tenants/${id}`) }).toMatchObject({
      opened: { guardrails_policy: null },
      saved: { action: "block", input_scanners: ["pii"], fail_open: true },
      undone: { guardrails_policy: null, weight: 3 },
    });
  });
});

it("removes a policy after a change of another field that the page has not read", async () => {
  const { id } = await newTenant();
  const policy = { action: "block", input_scanners: ["ban_keywords"], ban_keywords: ["before"] };
  await must("PATCH", `/tenants/${id}/guardrails`, { policy });
  const { page } = await fixture.open({ as: "admin" });
  await page.goto(`/tenants/${id}?tab=policies`);
  const remove = page.getByRole("button", { name: "Remove policy: Guardrails" });
  await remove.waitFor();
  await must("PATCH", `/tenants/${id}`, { weight: 3 });
  await remove.click();
  await told(page, /Policy removed from/).waitFor();
  expect(await must<Tenant>("GET", `/tenants/${id}`)).toMatchObject({ guardrails_policy: null, weight: 3 });
});
