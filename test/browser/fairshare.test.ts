/** The page that says who waits and why, against a gateway in which requests really wait (docs/rules/console.md#pages). */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { FairshareGroup } from "../../shared/schema/fairshare.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { tabTo } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { type GatedUpstream, startGatedUpstream } from "../harness/gated-upstream.ts";
import type { Minted } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();
let gated: GatedUpstream;
beforeAll(async () => {
  gated = await startGatedUpstream();
});
afterAll(async () => await gated.close());

/** Two tenants that ask for one slow model with room for one request; `release` ends everything. */
async function saturated() {
  const { gateway } = fixture;
  const first = await gateway.mint(gated.url, "plain", { max_in_flight: 1 });
  const tenant = await gateway.must<Tenant>("POST", "/tenants", { name: `second-${first.mark}` });
  const { key, secret } = await gateway.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { name: "second" });
  const second: Minted = { ...first, tenant, key, secret };
  const answers = [gateway.chat(first)];
  await waitFor(
    () => gated.seen(first.mark).length,
    (count) => count === 1,
  );
  answers.push(gateway.chat(second), gateway.chat(second));
  await waitFor(
    async () => (await gateway.loadOf(first.model.model_name)).queued,
    (queued) => queued === 2,
  );
  return { first, second, answers };
}

describe("who waits, and why", () => {
  it("is shown for each queue, and raising a limit by keyboard lets the queue go", async () => {
    const { first, second, answers } = await saturated();
    const { page, problems } = await fixture.open({ as: "admin" });
    await page.goto("/fairshare");
    const row = page.getByRole("table", { name: "Waiting" }).getByRole("row").filter({ hasText: second.tenant.name });
    await row.waitFor();
    expect(await row.getByRole("cell").allInnerTexts()).toEqual([
      second.tenant.name,
      first.model.model_name,
      "Model concurrency",
      expect.stringMatching(/^\d.* (ms|s|min)$/),
      "2",
      "default",
      "Raise the model's max concurrency",
    ]);
    await page.keyboard.press("/");
    await page.keyboard.type(second.tenant.name.toUpperCase());
    await expect.poll(() => page.getByRole("row").filter({ hasText: "Model concurrency" }).count()).toBe(1);
    await tabTo(page, "Raise the model's max concurrency");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: `${second.tenant.name}, ${first.model.model_name}` });
    await dialog.getByText("2 requests of").waitFor();
    await tabTo(page, "Model's max concurrency");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("0");
    await page.keyboard.press("Enter");
    await dialog.getByText("must be a whole number of at least 1").waitFor();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("3");
    await page.keyboard.press("Enter");
    await page.getByText("Model's max concurrency: 1 → 3").waitFor();
    await waitFor(
      () => gated.seen(first.mark).length,
      (count) => count === 3,
    );
    await dialog.getByText("Left the queue").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(new URL(page.url()).searchParams.get("open")).toBeNull();
    gated.release();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(problems()).toEqual([]);
  });
});

describe("weights", () => {
  it("show what others would give before they are set, and are taken back", async () => {
    const { gateway } = fixture;
    const name = `group-${randomUUID()}`;
    await gateway.must("POST", "/fairshare/groups", { name, weight: 120 });
    const weight = async (): Promise<number | undefined> =>
      (await gateway.must<readonly FairshareGroup[]>("GET", "/fairshare/groups?limit=200")).find(
        (group) => group.name === name,
      )?.weight;
    const { page, problems } = await fixture.open({ as: "admin" });
    await page.goto("/fairshare");
    const field = page.getByLabel(`Weight of ${name}`);
    await field.fill("0");
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    await expect.poll(() => page.getByRole("button", { name: /^Set / }).isDisabled()).toBe(true);
    await field.fill("360");
    await page.getByRole("button", { name: "Set 1 weight" }).click();
    await page.getByText(`Weight of ${name}: 120 → 360`).waitFor();
    expect(await weight()).toBe(360);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText(`Weight of ${name}: 360 → 120`).waitFor();
    expect(await weight()).toBe(120);
    expect(problems()).toEqual([]);
  });

  it("are shown as set, even when the part that reports it comes late", async () => {
    const { gateway } = fixture;
    const name = `group-${randomUUID()}`;
    await gateway.must("POST", "/fairshare/groups", { name, weight: 120 });
    const { page } = await fixture.open({ as: "admin" });
    const late = Promise.withResolvers<void>();
    await page.route("**/assets/toasts-*.js", async (route) => {
      await late.promise;
      await route.continue();
    });
    await page.goto("/fairshare");
    await page.getByLabel(`Weight of ${name}`).fill("360");
    const set = page.waitForResponse((response) => response.request().method() === "PATCH");
    await page.getByRole("button", { name: "Set 1 weight" }).click();
    await set;
    late.resolve();
    await page.getByText(`Weight of ${name}: 120 → 360`).waitFor();
  });
});

describe("a cell", () => {
  const gone = { error: { message: "cell local does not answer", type: "api_error", code: "cell_unreachable" } };

  it("that is gone is said to be, with what was seen before, until it answers again", async () => {
    const { page } = await fixture.open({ as: "admin" });
    await page.goto("/fairshare");
    await page.getByRole("heading", { name: "Slots", exact: true }).waitFor();
    await page.route("**/api/live/fairshare/live*", async (route) => await route.fulfill({ status: 502, json: gone }));
    await page.getByText("The cell is not responding. Showing the last known data.").waitFor();
    await page.getByText("cell_unreachable").waitFor();
    expect(await page.getByRole("heading", { name: "Slots", exact: true }).isVisible()).toBe(true);
    await page.unroute("**/api/live/fairshare/live*");
    await page.getByText("The cell does not answer").waitFor({ state: "detached" });
  });

  it("that does not exist is no dead end", async () => {
    const { page } = await fixture.open({ as: "admin" });
    await page.goto("/fairshare?cell=nowhere");
    await page.getByText("No such cell").waitFor();
    await page.getByRole("button", { name: "Show the local cell" }).click();
    await page.getByRole("heading", { name: "Slots", exact: true }).waitFor();
  });
});
