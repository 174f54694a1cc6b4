/** What is set on keys and tenants in a real browser acts on the data plane, whatever one works with and wherever one sits. */
import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { tabTo } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();

describe("a key", () => {
  /** Rotates the key that is open; the answer is its new secret. */
  async function rotate(page: Page, graceSecs: string): Promise<string> {
    await page.getByRole("button", { name: "Rotate" }).click();
    const asked = page.getByRole("dialog", { name: /^Rotate the secret of/ });
    await asked.getByLabel("Old secret stays valid for").selectOption(graceSecs);
    await asked.getByRole("button", { name: "Rotate" }).click();
    const told = page.getByRole("dialog", { name: /^Secret key for/ });
    await told.getByText("Copy the secret now.").waitFor();
    const secret = /sk_[0-9a-f]{48}/.exec((await told.textContent()) ?? "")?.[0] ?? "";
    await told.getByRole("button", { name: "Done" }).click();
    await told.waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(secret);
    return secret;
  }

  it("that is rotated has two secrets for the chosen time, and one after the next rotation", async () => {
    const { gateway, upstream } = fixture;
    const minted = await gateway.mint(upstream.url);
    const statusWith = async (secret: string): Promise<number> => {
      await gateway.confirmed("what the page has written");
      return (await gateway.chat({ ...minted, secret })).status;
    };
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await page.goto(`/keys?key_id=${minted.key.id}`);
    const second = await rotate(page, "3600");
    await page.getByText("The old secret is valid until").waitFor();
    expect({ firstStatus: await statusWith(minted.secret), secondStatus: await statusWith(second) }).toEqual({
      firstStatus: 200,
      secondStatus: 200,
    });
    const third = await rotate(page, "0");
    await page.getByText("The old secret is valid until").waitFor({ state: "detached" });
    expect(third).not.toBe(second);
    expect({
      firstStatus: await statusWith(minted.secret),
      secondStatus: await statusWith(second),
      thirdStatus: await statusWith(third),
    }).toEqual({ firstStatus: 401, secondStatus: 401, thirdStatus: 200 });
    expect(visit.problems()).toEqual([]);
  });
});

describe("the week of a tenant", () => {
  const windowsOf = async (id: string) => (await fixture.gateway.must<Tenant>("GET", `/tenants/${id}`)).weekly_windows;
  const save = async (page: Page): Promise<void> => {
    await tabTo(page, "Save");
    await page.keyboard.press("Enter");
    await page
      .getByText(/ saved for /)
      .first()
      .waitFor();
  };

  it("is opened and closed by keys alone", async () => {
    // Without windows every time would be open.
    const sunday = { day: 0, start_min: 0, end_min: 60 };
    const { id } = await fixture.gateway.must<Tenant>("POST", "/tenants", { name: `t-${randomUUID()}` });
    await fixture.gateway.must("PATCH", `/tenants/${id}/schedule`, { weekly_windows: [sunday] });
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await page.goto(`/tenants/${id}?tab=edit`);
    await page.getByRole("grid", { name: "Weekly access windows" }).waitFor();
    await tabTo(page, "Monday 09:00 to 09:30: closed");
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"])
      await page.keyboard.press(`Shift+${key}`);
    await page.keyboard.press("Space");
    await page.getByRole("gridcell", { name: "Friday 10:30 to 11:00: open" }).waitFor();
    await save(page);
    const weekdays = [1, 2, 3, 4, 5].map((day) => ({ day, start_min: 540, end_min: 660 }));
    expect(await windowsOf(id)).toEqual([sunday, ...weekdays]);
    // a cell, and one that is given up
    await tabTo(page, "Friday 10:30 to 11:00: open");
    await page.keyboard.press("Space");
    await page.keyboard.press("Home");
    await page.keyboard.press("Shift+End");
    await page.keyboard.press("Escape");
    await save(page);
    await waitFor(
      async () => await windowsOf(id),
      (windows) => windows.some(({ day, end_min }) => day === 5 && end_min === 630),
    );
    expect(await windowsOf(id)).toEqual([sunday, ...weekdays.slice(0, 4), { ...weekdays[4], end_min: 630 }]);
    expect(visit.problems()).toEqual([]);
  });
});

describe("a budget", () => {
  it.each([
    ["UTC", /UTC/],
    ["Asia/Kolkata", /Asia\/Kolkata \(UTC\+05:30\)/],
    ["America/Los_Angeles", /America\/Los_Angeles \(UTC-0[78]:00\)/],
  ])("of a tenant in %s resets at midnight there, for a reader anywhere", async (timezone, label) => {
    const { gateway } = fixture;
    const { id } = await gateway.must<Tenant>("POST", "/tenants", { name: `t-${randomUUID()}`, timezone });
    await gateway.must("PATCH", `/tenants/${id}/budget`, { budget_tokens: 10, budget_period: "monthly" });
    const format = new Intl.DateTimeFormat("en-GB", {
      timeZone: timezone,
      day: "numeric",
      month: "short",
      year: "numeric",
      hour: "2-digit",
      minute: "2-digit",
    });
    const end = async (): Promise<string> => {
      const { period_end } = await gateway.must<BudgetUsage>("GET", `/tenants/${id}/budget/usage`);
      const parts = format.format(new Date(period_end ?? 0));
      expect(parts).toMatch(/^1 \w+ \d{4}, 00:00$/);
      return parts;
    };
    const before = await end();
    const visit = await fixture.open({ as: "admin", timezoneId: "Pacific/Auckland" });
    await visit.page.goto(`/tenants/${id}?tab=budget`);
    const sentence = visit.page.getByText(/Resets \d/).first();
    await sentence.waitFor();
    const said = (await sentence.textContent()) ?? "";
    // the month may have ended while the page was loading
    expect([before, await end()].filter((parts) => said.includes(parts))).not.toEqual([]);
    expect(said).toMatch(label);
    expect(visit.problems()).toEqual([]);
  });
});
