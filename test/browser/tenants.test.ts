/** Tenants and their keys in a real browser: from nothing to a first request, and what two people do at the same time. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { ApiKey, CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { rowCount } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();
const run = promisify(execFile);

const newTenant = async (fields: object = {}): Promise<Tenant> =>
  await fixture.gateway.must<Tenant>("POST", "/tenants", { name: `t-${randomUUID()}`, ...fields });
const tenantNow = async ({ id }: Tenant): Promise<Tenant> => await fixture.gateway.must<Tenant>("GET", `/tenants/${id}`);

describe("from nothing to a first request", () => {
  it("takes a form, a form and the curl line of the page; the secret is gone afterwards", async () => {
    const { page, problems } = await fixture.open({ as: "admin" });
    const name = `new-${randomUUID()}`;
    await page.goto("/tenants");
    await page.getByRole("button", { name: "Create tenant" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill(name);
    await dialog.getByLabel("Weight").fill("0");
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
    const curl = await page.locator("pre", { hasText: "curl" }).innerText();
    const secret = /sk_[0-9a-f]{48}/.exec(curl)?.[0] ?? "";
    expect(secret).not.toBe("");
    await run("sh", ["-c", `${curl} --silent --max-time 30`]);
    await page.getByText("Your request has arrived").waitFor();
    expect(await page.getByRole("link", { name: "See the request" }).getAttribute("href")).toMatch(/\/logs\?open=/);

    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByRole("cell", { name: "first" }).waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.goBack();
    await page.goForward();
    await page.reload();
    await page.getByRole("cell", { name: "first" }).waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(problems()).toEqual([]);
  });
});
