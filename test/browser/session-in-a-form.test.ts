/** A session that ends while something is typed: it is asked for over the page, and nothing that was typed is lost. */
import { randomUUID } from "node:crypto";
import type { Locator, Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useConsole, type Visit } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();
const must = async <T = unknown>(method: string, path: string, body?: unknown): Promise<T> =>
  await fixture.gateway.must<T>(method, path, body);
const newTenant = async (): Promise<Tenant> => await must<Tenant>("POST", "/tenants", { name: `t-${randomUUID()}` });
const newModel = async (): Promise<Model> =>
  await must<Model>("POST", "/models", {
    model_name: `m-${randomUUID()}`,
    api_base: "http://127.0.0.1:9/v1",
    health: { checks_enabled: false },
  });

interface Form {
  readonly name: string;
  readonly pathOf: (visit: Visit) => Promise<string> | string;
  /** Opens the form, where it has no address. */
  readonly open?: (page: Page) => Promise<void>;
  readonly field: string;
  readonly typed: string;
  /** What else the form needs. */
  readonly others?: Readonly<Record<string, string>>;
  readonly submit: string;
}

const clickButton = (name: string) => async (page: Page) =>
  await page.getByRole("button", { name, exact: true }).first().click();

const FORMS: readonly Form[] = [
  {
    name: "a tenant",
    pathOf: async () => `/tenants/${(await newTenant()).id}?tab=edit`,
    field: "Organization",
    typed: "typed",
    submit: "Save",
  },
  {
    name: "a new tenant",
    pathOf: () => "/tenants",
    open: clickButton("Create tenant"),
    field: "Name",
    typed: `new-${randomUUID()}`,
    submit: "Create tenant",
  },
  {
    name: "a key",
    pathOf: async () => {
      const { key } = await must<{ key: { id: string } }>("POST", `/tenants/${(await newTenant()).id}/keys`, {});
      return `/keys?key_id=${key.id}`;
    },
    field: "Description",
    typed: "typed",
    submit: "Save",
  },
  {
    name: "a new key",
    pathOf: async () => `/tenants/${(await newTenant()).id}?tab=keys`,
    open: clickButton("Create key"),
    field: "Name",
    typed: `new-${randomUUID()}`,
    submit: "Create key",
  },
  {
    name: "a model",
    pathOf: async () => `/models/${(await newModel()).id}?tab=edit`,
    field: "Description",
    typed: "typed",
    submit: "Save",
  },
  {
    name: "a new model",
    pathOf: () => "/models",
    open: clickButton("Create model"),
    field: "Name",
    typed: `new-${randomUUID()}`,
    submit: "Create model",
  },
  {
    name: "an MCP server",
    pathOf: async () => {
      const body = { name: `s-${randomUUID()}`, upstream_url: "http://127.0.0.1:9/mcp" };
      return `/mcp?server_id=${(await must<{ id: string }>("POST", "/mcp-servers", body)).id}`;
    },
    field: "URL",
    typed: "http://127.0.0.1:9/typed",
    submit: "Save",
  },
  { name: "a setting", pathOf: () => "/settings?tab=retention", field: "Days", typed: "78", submit: "Save" },
  {
    name: "a new managed model",
    pathOf: async () => `/deployments/new?model_id=${(await newModel()).id}`,
    field: "Partition",
    typed: "typed",
    // no replicas: a scheduler that another test sets up would get their jobs
    others: { Command: "exec serve", "First port": "8000", Replicas: "0" },
    submit: "Create",
  },
  {
    name: "a new recipe",
    pathOf: () => "/deployments?tab=recipes&recipe=new",
    field: "Name",
    typed: `r-${randomUUID()}`,
    submit: "Create",
  },
];

describe.each(FORMS)("the form of $name", ({ pathOf, open, field, typed, others = {}, submit }) => {
  it("keeps what was typed while somebody signs in again, and is sent then", async () => {
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await page.goto(await pathOf(visit));
    await open?.(page);
    const form = page
      .locator("form")
      .filter({ has: page.getByLabel(field, { exact: true }) })
      .first();
    const control = form.getByLabel(field, { exact: true });
    for (const [label, value] of Object.entries(others)) await form.getByLabel(label, { exact: true }).fill(value);
    await control.fill(typed);
    await pressWithoutSession(page, form.getByRole("button", { name: submit, exact: true }));
    await signInAgain(page);
    expect(await control.inputValue()).toBe(typed);
    const sent = page.waitForResponse((response) => /^(POST|PUT|PATCH)$/.test(response.request().method()));
    await form.getByRole("button", { name: submit, exact: true }).click();
    expect((await sent).status()).not.toBe(401);
  });
});

/**
 * Ends the session, and presses. What the page asks on a timer waits for the press: its refusal would lay the window that asks
 * for the sign-in over the button.
 */
async function pressWithoutSession(page: Page, button: Locator): Promise<void> {
  const { promise: isPressed, resolve: press } = Promise.withResolvers<void>();
  await page.route("**/api/**", async (route) => {
    await isPressed;
    await route.continue();
  });
  await page.context().clearCookies();
  await button.click();
  press();
  await page.getByRole("dialog", { name: "You have been signed out" }).waitFor();
  await page.unroute("**/api/**");
}

/** Signs the admin in, in the window that asks for it. */
async function signInAgain(page: Page): Promise<void> {
  const access = inject("consoleAccess");
  const dialog = page.getByRole("dialog", { name: "You have been signed out" });
  await dialog.waitFor();
  await dialog.getByLabel("Email").fill(access?.email ?? "");
  await dialog.getByLabel("Password").fill(access?.password ?? "");
  await dialog.getByRole("button", { name: "Sign in", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

it("a user who signs in again in another window continues where something was typed", async () => {
  const visit = await fixture.open({ as: "user" });
  const { page, context, user } = visit;
  await page.goto("/keys");
  await page.getByRole("button", { name: "Create key" }).click();
  const name = page.getByRole("dialog").getByLabel("Name", { exact: true });
  await name.fill("typed");
  await pressWithoutSession(page, page.getByRole("dialog").getByRole("button", { name: "Create key" }));
  const ended = page.getByRole("dialog", { name: "You have been signed out" });
  const { email = "" } = user ?? {};
  await fixture.signInAtProvider(context, {
    sub: email.split("@")[0],
    email,
    name: "Ann",
    email_verified: true,
  });
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
  await ended.waitFor({ state: "detached" });
  expect(await name.inputValue()).toBe("typed");
  await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
  await waitFor(
    async () => await must<readonly { name: string }[]>("GET", `/tenants/${visit.tenant?.id}/keys`),
    (keys) => keys.some((key) => key.name === "typed"),
  );
});
