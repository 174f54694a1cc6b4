/** Batches in a real browser: one is created and its results stored; one of 10,000 lines moves, its slots are shown apart, and it is cancelled. */
import { text } from "node:stream/consumers";
import type { Page } from "playwright-core";
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
  const form = new FormData();
  form.append("purpose", "batch");
  form.append(
    "file",
    new File(
      [Array.from({ length: LINES }, (_, at) => lineOf(`line-${at}`, minted.model.model_name)).join("\n")],
      "lines.jsonl",
    ),
  );
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
  await row.getByText("lines.jsonl").waitFor();
  await row.getByText("In progress").waitFor();
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
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel batch" }).click();
  await row.getByText("Cancelled", { exact: true }).waitFor();
  const [shownBatch] = await gateway.must<readonly Batch[]>("GET", `/batches?q=${batch.id}`);
  expect(shownBatch?.lines_completed).toBeGreaterThan(0);
  expect(shownBatch?.lines_completed).toBeLessThan(LINES);
  expect(problems()).toEqual([]);
});

const lineOf = (customId: string, model: string): string =>
  JSON.stringify({
    custom_id: customId,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model, messages: [{ role: "user", content: "hello" }] },
  });

async function stored(page: Page, button: string): Promise<string> {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: button, exact: true }).click();
  return await text(await (await download).createReadStream());
}

it("a user uploads a file, creates a batch of it, and stores its output and its errors", async () => {
  const { gateway, upstream } = console_;
  const { model } = await gateway.mint(upstream.url);
  const { page, problems } = await console_.open({ as: "user" });
  await page.goto("/batches");
  await page.getByRole("button", { name: "Create batch" }).first().click();
  const dialog = page.getByRole("dialog");
  const buffer = Buffer.from(`${lineOf("good", model.model_name)}\n${lineOf("bad", "unknown-model")}\n`);
  await dialog.locator("input[type=file]").setInputFiles({ name: "mine.jsonl", mimeType: "text/plain", buffer });
  await dialog.getByRole("button", { name: "Create batch" }).click();
  await page.getByText("Completed with errors", { exact: true }).waitFor();
  expect(JSON.parse(await stored(page, "Output"))).toMatchObject({ custom_id: "good", response: { status_code: 200 } });
  expect(JSON.parse(await stored(page, "Errors"))).toMatchObject({ custom_id: "bad" });
  await page.getByText(/^Line 2: 404 /).click();
  const panel = page.getByRole("dialog");
  await panel.getByText("1 succeeded, 1 failed, 0 left").waitFor();
  await panel.getByText(/^\$0\.\d+$/).waitFor();
  await panel.getByRole("link", { name: "Requests of this batch" }).click();
  await page.getByText("2 requests", { exact: true }).waitFor();
  expect(problems()).toEqual([]);
});

it("an admin creates a batch for a tenant of a file that was uploaded, and sees why it is refused", async () => {
  const { gateway, upstream } = console_;
  const { tenant, secret } = await gateway.mint(upstream.url);
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new File(["{}\n"], "wrong.jsonl"));
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch(`${gateway.proxyUrl}/v1/files`, { method: "POST", headers, body: form });
  const { id } = (await response.json()) as { readonly id: string };
  const { page, problems } = await console_.open({ as: "admin" });
  await page.goto("/batches");
  await page.getByRole("button", { name: "Create batch" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: "Tenant" }).fill(tenant.name);
  await page.getByRole("option", { name: tenant.name }).click();
  await dialog.getByRole("combobox", { name: "File" }).selectOption(id);
  await dialog.getByRole("combobox", { name: "Endpoint" }).selectOption("/v1/embeddings");
  await dialog.getByRole("button", { name: "Create batch" }).click();
  const row = page.getByRole("row", { name: tenant.name });
  await row.getByText("Line 1: ").waitFor();
  await row.getByText("/v1/embeddings").waitFor();
  expect(problems()).toEqual([]);
});
