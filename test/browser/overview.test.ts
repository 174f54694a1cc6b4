/** The page that says whether somebody has to act now (docs/rules/console.md#pages). */
import { describe, expect, it } from "vitest";
import { tabTo } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";

const fixture = useConsole();

describe("what needs attention", () => {
  it("names a model that is down and leads to what its checks found, by keyboard alone", async () => {
    const { gateway } = fixture;
    const { model } = await gateway.mint("http://127.0.0.1:9/v1");
    const name = model.model_name;
    for (let failures = 0; failures < 3; failures += 1) await gateway.must("POST", `/models/${model.id}/health/check`);
    const { page, problems } = await fixture.open({ as: "admin" });
    await page.goto("/?all=true");
    await page.getByRole("heading", { name: `Model ${name} is down` }).waitFor();
    await tabTo(page, `Models: Model ${name} is down`);
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.pathname === `/models/${model.id}` && url.searchParams.get("tab") === "health");
    await page.getByText("Health checks", { exact: true }).waitFor();
    // Before the page reads a model that is gone.
    expect(problems()).toEqual([]);
    await gateway.must("DELETE", `/models/${model.id}`);
  });
});

describe("figures", () => {
  it("have the zone beside them, which is another view with another address", async () => {
    const { page, problems } = await fixture.open({ as: "admin", timezoneId: "Asia/Kolkata" });
    await page.goto("/");
    await page.getByText(/days in Asia\/(Kolkata|Calcutta) \(UTC\+05:30\)/).waitFor();
    await page.getByLabel("Time zone").selectOption({ label: "UTC" });
    await page.getByText("days in UTC.").waitFor();
    expect(new URL(page.url()).searchParams.get("zone")).toBe("utc");
    expect(problems()).toEqual([]);
  });

  it("that are not known are a dash, and say why, beside those that are", async () => {
    const { page } = await fixture.open({ as: "admin" });
    const error = { message: "cell local does not answer", type: "api_error", code: "cell_unreachable" };
    await page.route("**/api/live/stats*", async (route) => await route.fulfill({ status: 502, json: { error } }));
    await page.goto("/");
    const running = page.getByRole("region", { name: "Now" }).getByRole("link", { name: "Running" });
    await running.waitFor();
    await page.getByText("cell_unreachable").first().waitFor();
    expect(await page.getByRole("region", { name: "Now" }).textContent()).toMatch(/Running\s*–\s*no cell responds/);
    await expect.poll(() => page.getByRole("region", { name: "Usage" }).textContent()).toMatch(/Requests\s*[\d.]+/);
  });
});
