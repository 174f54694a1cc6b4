/** Batches in a real browser: one of 10,000 lines moves, its slots are shown apart, and it is cancelled. */
import { expect, it, onTestFinished } from "vitest";
import type { Batch } from "../../shared/schema/batch.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";

const LINES = 10_000;
const console_ = useConsole();

it("shows a batch of 10,000 lines moving, and an admin cancels it", async () => {
  const { gateway } = console_;
  const upstream = await startTestUpstream();
  onTestFinished(async () => await upstream.close());
  // long enough to be seen while they hold slots
  const minted = await gateway.mint(upstream.url, "delay=200");
  const headers = { authorization: `Bearer ${minted.secret}` };
  const line = (at: number): string =>
    JSON.stringify({
      custom_id: `line-${at}`,
      method: "POST",
      url: "/v1/chat/completions",
      body: { model: minted.model.model_name, messages: [{ role: "user", content: "hello" }] },
    });
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new File([Array.from({ length: LINES }, (_, at) => line(at)).join("\n")], "lines.jsonl"));
  const made = async (path: string, body: FormData | string, type = {}): Promise<{ readonly id: string }> => {
    const response = await fetch(`${gateway.proxyUrl}${path}`, {
      method: "POST",
      headers: { ...headers, ...type },
      body,
    });
    expect(response.status).toBe(200);
    return (await response.json()) as { readonly id: string };
  };
  const file = await made("/v1/files", form);
  const batch = await made(
    "/v1/batches",
    JSON.stringify({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" }),
    { "content-type": "application/json" },
  );

  const { page, problems } = await console_.open({ as: "admin" });
  await page.goto(`/batches?q=${batch.id}`);
  const row = page.getByRole("row", { name: batch.id });
  await row.getByText("Running").waitFor();
  const progress = row.getByRole("progressbar");
  const shown = async (): Promise<number> => Number(await progress.getAttribute("value"));
  await expect.poll(shown).toBeGreaterThan(0);
  const before = await shown();
  await expect.poll(shown).toBeGreaterThan(before);
  await page.goto("/fairshare");
  await page
    .locator("figcaption")
    .getByText(/^Batches, on idle slots: \d+ slots?$/)
    .waitFor();
  await page.goto(`/batches?q=${batch.id}`);
  await row.getByRole("button", { name: "Cancel batch" }).click();
  await row.getByText("Cancelled").waitFor();
  const [shownBatch] = await gateway.must<readonly Batch[]>("GET", `/batches?q=${batch.id}`);
  expect(shownBatch?.lines_completed).toBeGreaterThan(0);
  expect(shownBatch?.lines_completed).toBeLessThan(LINES);
  expect(problems()).toEqual([]);
});
