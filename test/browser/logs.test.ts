/** The list of requests: it follows traffic, its address holds what is seen, and its sums are those of file and API. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { UsageLogTotals } from "../../shared/schema/usage.ts";
import { dayIn } from "../../shared/time/zone-days.ts";
import { rowCount, tabTo } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import type { Minted } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();
const { url } = fixture;

/** More than two pages of the list; the document holds those in sight alone. */
const MANY = 250;
const ROWS_MAX = 60;

/** Sends requests and waits for their rows; `isRefused`: for a model that is not there. */
async function send(minted: Minted, count: number, isRefused = false): Promise<void> {
  const { gateway } = fixture;
  const before = (await gateway.requestIds(minted.tenant.id)).length;
  for (let sent = 0; sent < count; sent += 25)
    await Promise.all(
      Array.from({ length: Math.min(25, count - sent) }, async () => {
        const options = isRefused ? { body: { model: "absent" } } : { headers: { "x-session-id": "<b>session</b>" } };
        await (await gateway.chat(minted, options)).text();
      }),
    );
  await waitFor(
    async () => await gateway.requestIds(minted.tenant.id),
    (ids) => ids.length === before + count,
  );
}
const mint = async (): Promise<Minted> => await fixture.gateway.mint(fixture.upstream.url);
const rowsIn = (page: Page) =>
  page.getByRole("table", { name: "Requests, newest first" }).locator("tbody tr[data-index]");
const totals = (page: Page) => page.getByRole("region", { name: "Totals" });

describe("the list of requests", () => {
  it("holds only the rows in sight, continues as it is scrolled, and follows traffic on request", async () => {
    const minted = await mint();
    await send(minted, MANY, true);
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await page.goto(`/logs?tenant_id=${minted.tenant.id}`);
    await totals(page).getByText(`${MANY} requests`).waitFor();
    const table = page.getByRole("table", { name: "Requests, newest first" });
    await rowsIn(page).first().waitFor();
    const seen = new Set<string>();
    const box = page.locator("section[aria-label='Requests, newest first']");
    await waitFor(
      async () => {
        expect(await rowCount(page)).toBeLessThanOrEqual(ROWS_MAX);
        // One look for both, by what is drawn: a row that is drawn meanwhile is not passed by.
        const indexes = await box.evaluate((element) => {
          const rows = [...element.querySelectorAll("tbody tr[data-index]")];
          rows.at(-1)?.scrollIntoView({ block: "start" });
          return rows.map((row) => row.getAttribute("aria-rowindex") ?? "");
        });
        for (const index of indexes) seen.add(index);
        return seen.size;
      },
      (count) => count === MANY,
    );
    expect(await table.getAttribute("aria-rowcount")).toBe(String(MANY + 1));
    // somebody reads further down: what comes waits
    await send(minted, 3);
    await page.getByRole("button", { name: "3 new requests" }).click();
    await rowsIn(page).first().getByText("200", { exact: true }).waitFor();
    expect(await table.getAttribute("aria-rowcount")).toBe(String(MANY + 4));
    await page.getByRole("button", { name: "Follow" }).click();
    await page.getByText("Following", { exact: true }).waitFor();
    await send(minted, 2);
    await waitFor(
      async () => await table.getAttribute("aria-rowcount"),
      (count) => count === String(MANY + 6),
    );
    await totals(page)
      .getByText(`${MANY + 5} requests`)
      .waitFor();
    expect(visit.problems()).toEqual([]);
  });

  it("keeps filters and the open request in its address, over reload and Back, by keys alone", async () => {
    const minted = await mint();
    await send(minted, 2);
    await send(minted, 2, true);
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await page.goto(`/logs?tenant_id=${minted.tenant.id}&status=error`);
    await totals(page).getByText("2 requests").waitFor();
    await rowsIn(page).nth(1).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    const panel = page.getByRole("complementary", { name: "Request" });
    await panel.getByRole("heading", { name: /404/ }).waitFor();
    const first = new URL(page.url()).searchParams.get("open");
    await page.keyboard.press("j");
    await waitFor(
      async () => new URL(page.url()).searchParams.get("open"),
      (open) => open !== first && open !== null,
    );
    await page.reload();
    await panel.getByRole("heading", { name: /404/ }).waitFor();
    await rowsIn(page).nth(1).waitFor();
    expect(await rowsIn(page).count()).toBe(2);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await page.goBack();
    await panel.waitFor();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.keyboard.type(first ?? "");
    await page.keyboard.press("Enter");
    await totals(page).getByText("1 request", { exact: true }).waitFor();
    await tabTo(page, "Requests over time");
    expect(visit.problems()).toEqual([]);
  });

  it("says that a request is gone, or not the reader's", async () => {
    const minted = await mint();
    await send(minted, 1);
    const [id] = await fixture.gateway.requestIds(minted.tenant.id);
    const { page } = await fixture.open({ as: "user" });
    await page.goto(`/logs?open=${id}`);
    await page.getByRole("heading", { name: "No such request" }).waitFor();
    await page.getByText("No requests were sent in this period.").waitFor();
  });

  it.each([
    ["UTC", "UTC"],
    ["Asia/Kolkata", "(UTC+05:30)"],
    ["America/Los_Angeles", "America/Los_Angeles (UTC-0"],
  ])("has the sums of file and API for a day of %s", async (zone, label) => {
    const minted = await mint();
    await send(minted, 3);
    await send(minted, 2, true);
    const visit = await fixture.open({ as: "admin", timezoneId: zone });
    const { page, context } = visit;
    const days = new Set((await fixture.gateway.allRows(minted.tenant.id)).map(({ ts_ms }) => dayIn(zone, ts_ms)));
    const [first, last] = [[...days].at(-1), [...days][0]];
    await page.goto(`/logs?tenant_id=${minted.tenant.id}&zone=browser&period=${first}..${last}`);
    await totals(page).getByText("5 requests").waitFor();
    await totals(page).getByText("2 refused").waitFor();
    await totals(page).getByText("0 failed").waitFor();
    expect(await totals(page).textContent()).toContain(label);
    const link = (await page.getByRole("link", { name: "CSV", exact: true }).getAttribute("href")) ?? "";
    const csv = await (await context.request.get(`${url}${link}`)).text();
    const [head = "", ...lines] = csv.trimEnd().split("\r\n");
    const column = head.split(",").indexOf("total_tokens");
    const query = new URL(link, url).searchParams;
    query.delete("format");
    const sums = await fixture.gateway.must<UsageLogTotals>("GET", `/usage/logs/totals?${query.toString()}`);
    expect({
      lineCount: lines.length,
      sum: lines.reduce((sum, line) => sum + Number(line.split(",")[column]), 0),
    }).toEqual({ lineCount: sums.requests, sum: sums.total_tokens });
    await totals(page).getByText(`${sums.total_tokens} tokens`).waitFor();
    expect(visit.problems()).toEqual([]);
  });

  it("shows names from outside as text, and a user what a user may see", async () => {
    const visit = await fixture.open({ as: "user", width: 390 });
    const { page, tenant } = visit;
    const { gateway, upstream } = fixture;
    const minted = await gateway.mint(upstream.url);
    const { key, secret } = await gateway.must<Pick<Minted, "key" | "secret">>("POST", `/tenants/${tenant?.id}/keys`, {
      name: `<img src=x onerror=alert(1)> שלום ${"long ".repeat(20)}`,
    });
    const own: Minted = { ...minted, key, secret, tenant: tenant ?? minted.tenant };
    await send(own, 1);
    const [id] = await gateway.requestIds(own.tenant.id);
    await page.goto(`/logs?open=${id}`);
    const panel = page.getByRole("complementary", { name: "Request" });
    await panel.getByRole("heading", { name: "Succeeded" }).waitFor();
    await panel.getByText("<b>session</b>").waitFor();
    await panel.getByText("<img src=x onerror=alert(1)>").waitFor();
    expect(await panel.textContent()).not.toMatch(/Cell|Endpoint|Upstream status|curl/);
    const csv = await (await visit.context.request.get(`${url}/api/live/usage/logs?format=csv`)).text();
    expect(csv).toContain(id);
    expect(csv.split("\r\n")[0]).not.toMatch(/cell|endpoint/);
    expect(visit.problems()).toEqual([]);
  });
});
