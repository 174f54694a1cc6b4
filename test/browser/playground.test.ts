/** The playground in a real browser: a conversation through the relay, and a key that stays in its tab. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import type { Minted } from "../harness/gateway.ts";
import { startHttpSink } from "../harness/http-sink.ts";
import { startMessagesUpstream } from "../harness/messages-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();
const messages = useStarted(startMessagesUpstream);
/** One pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const message = (page: Page) => page.getByRole("textbox", { name: "Message" });
const answers = (page: Page, { model }: Minted) => page.getByRole("article", { name: model.model_name });

async function choose(page: Page, label: string, { model }: Minted): Promise<void> {
  await page.getByRole("combobox", { name: label, exact: true }).fill(model.model_name);
  await page.getByRole("option", { name: model.model_name }).click();
}
/** Opens the page with a key and a model. */
async function begin(page: Page, minted: Minted): Promise<void> {
  await page.goto("/playground");
  await page.getByLabel("API key").fill(minted.secret);
  await choose(page, "Model", minted);
}
async function say(page: Page, words: string): Promise<void> {
  await message(page).fill(words);
  await page.getByRole("button", { name: "Send", exact: true }).click();
}
const bodies = (text: string) => fixture.upstream.seen(text).map(({ body }) => body);

describe("the playground", () => {
  it("compares two models with settings and an image, shows figures and links to the request", async () => {
    const { gateway, upstream } = fixture;
    const first = await gateway.mint(upstream.url, "chunks=3");
    const second = await gateway.mint(upstream.url, "status=400");
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await begin(page, first);
    await choose(page, "Second model", second);
    await page.getByLabel("System prompt").fill("Be brief");
    await page.getByLabel("temperature").fill("3");
    const mark = `mark-${randomUUID()}`;
    await say(page, `Hello ${mark} <b>x</b>`);
    await page.getByText("A setting is invalid. Fix it, then send again.").waitFor();
    expect(bodies(mark)).toEqual([]);
    await page.getByLabel("temperature").fill("0.5");
    await page.locator("input[type=file]").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: PNG });
    await page.getByRole("img", { name: "Image 1" }).waitFor();
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const answer = answers(page, first);
    await answer.getByText("Cost").waitFor();
    await answer.getByText("11 + 22").waitFor();
    await answers(page, second).getByText("400").first().waitFor();
    await page.getByText("<b>x</b>").waitFor();
    const url = `data:image/png;base64,${PNG.toString("base64")}`;
    expect(bodies(mark)[0]).toMatchObject({
      temperature: 0.5,
      stream: true,
      messages: [
        { role: "system", content: "Be brief" },
        {
          role: "user",
          content: [
            { type: "text", text: `Hello ${mark} <b>x</b>` },
            { type: "image_url", image_url: { url } },
          ],
        },
      ],
    });
    // said again in other words: what came after is gone
    await page.getByRole("button", { name: "Edit" }).click();
    const other = `mark-${randomUUID()}`;
    await page.getByRole("textbox", { name: "Message" }).first().fill(other);
    await page.getByRole("button", { name: "Send again" }).click();
    // The gateway may ask an upstream that refuses twice.
    await waitFor(
      async () => new Set(bodies(other).map(({ model }) => model)).size,
      (models) => models === 2,
    );
    expect(JSON.stringify(bodies(other))).not.toContain(mark);
    await page.getByRole("button", { name: "Copy as code" }).click();
    await page.getByText("$GATEWAY_API_KEY").first().waitFor();
    const dialog = page.getByRole("dialog");
    expect(await dialog.textContent()).not.toContain(first.secret);
    await dialog.getByLabel("Model").selectOption({ label: second.model.model_name });
    await dialog.locator("pre", { hasText: `"model":"${second.model.model_name}"` }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator("input[type=file]").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: PNG });
    await page.getByRole("img", { name: "Image 1" }).last().waitFor();
    await page.getByRole("button", { name: "Copy as code" }).click();
    await dialog.locator("pre", { hasText: url }).waitFor();
    await page.keyboard.press("Escape");
    // its row has arrived: one that has not is refused
    await answer.getByText("11 + 22").waitFor();
    await answer.getByRole("link", { name: "View request" }).click();
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    await page.getByRole("complementary", { name: "Request" }).getByText(first.model.model_name).first().waitFor();
    await page.goBack();
    await page.getByRole("article", { name: first.model.model_name }).waitFor();
    // Of the refusal of the second model the browser tells.
    expect(visit.problems().filter((problem) => !/status of 400/.test(problem))).toEqual([]);
  });

  it("shows the cost of a request exactly as its row does, by the prices of its parts", async () => {
    const { gateway } = fixture;
    const upstream = await startHttpSink();
    onTestFinished(async () => await upstream.close());
    const usage = {
      prompt_tokens: 1003,
      prompt_tokens_details: { cached_tokens: 800 },
      completion_tokens: 57,
      completion_tokens_details: { reasoning_tokens: 33 },
      total_tokens: 1060,
    };
    const choices = [{ index: 0, message: { role: "assistant", content: "counted" }, finish_reason: "stop" }];
    upstream.answer = () => ({
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ object: "chat.completion", choices, usage }),
    });
    const priced = await gateway.mint(upstream.url, "plain", {
      input_cost_per_token: 0.000_001_234_5,
      cached_input_cost_per_token: 0.000_000_321,
      output_cost_per_token: 0.000_004_56,
      reasoning_output_cost_per_token: 0.000_009_87,
      cache_enabled: true,
    });
    const free = { input_cost_per_token: 0, output_cost_per_token: 0 };
    const unpriced = await gateway.mint(upstream.url, "plain", free);
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    const figure = async (minted: Minted, name: string) =>
      await answers(page, minted).locator("dl > div", { hasText: name }).last().locator("dd").textContent();
    const costs = async (minted: Minted, count: number): Promise<string | null> => {
      await answers(page, minted)
        .getByText("1,003 + 57")
        .nth(count - 1)
        .waitFor();
      return await figure(minted, "Cost");
    };
    await begin(page, priced);
    await page.locator("input[type=file]").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: PNG });
    await page.getByRole("img", { name: "Image 1" }).waitFor();
    await say(page, "How much?");
    const shown = await costs(priced, 1);
    const [row] = await waitFor(
      async () => await gateway.rows(priced.tenant.id),
      (rows) => rows.length === 1,
    );
    const whole = await answers(page, priced).locator("dd [title]", { hasText: "$" }).last().getAttribute("title");
    const exact = 203 * 0.000_001_234_5 + 800 * 0.000_000_321 + 24 * 0.000_004_56 + 33 * 0.000_009_87;
    expect({ shown, whole, cost_usd: row?.cost_usd }).toEqual({
      shown: `$${exact.toFixed(6)}`,
      whole: `$${exact.toFixed(9)}`,
      cost_usd: Number(exact.toFixed(9)),
    });
    expect({
      cached: await figure(priced, "Cached tokens"),
      reasoning: await figure(priced, "Reasoning tokens"),
    }).toEqual({ cached: "800", reasoning: "33" });
    await page.getByRole("button", { name: "New conversation" }).click();
    await page.locator("input[type=file]").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: PNG });
    await page.getByRole("img", { name: "Image 1" }).waitFor();
    await say(page, "How much?");
    expect({ cost: await costs(priced, 1), cache: await figure(priced, "Cache") }).toEqual({
      cost: "$0.00",
      cache: "hit",
    });
    await page.getByRole("link", { name: "View request" }).click();
    await page.getByRole("complementary", { name: "Request" }).getByText("$0.00").first().waitFor();
    await page.goBack();

    await page.getByLabel("API key").fill(unpriced.secret);
    await choose(page, "Model", unpriced);
    await say(page, "And this?");
    expect(await costs(unpriced, 1)).toBe("no price");
    expect(visit.problems()).toEqual([]);
  });

  it("sends messages to models of both APIs, with a tool and its result, and shows the code", async () => {
    const { gateway, upstream } = fixture;
    const access = { api_dialect: "anthropic", auth_scheme: "x-api-key", api_key: "upstream-key" };
    const own = await gateway.mint(messages().url, "tools=1", access);
    const other = await gateway.mint(upstream.url);
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await begin(page, own);
    await choose(page, "Second model", other);
    await page.getByLabel("seed").fill("wrong");
    await page.getByLabel("API", { exact: true }).selectOption({ label: "Messages" });
    expect(await page.getByLabel("seed").count()).toBe(0);
    const tool = { type: "function", function: { name: "weather", parameters: { type: "object" } } };
    await page.getByText("Stop sequences, tools and schema").click();
    await page.getByLabel("Tools (JSON)").fill(JSON.stringify([tool]));
    const mark = `mark-${randomUUID()}`;
    await say(page, mark);
    await answers(page, other).getByText("w0 w1 w2 w3").waitFor();
    const answer = answers(page, own);
    await answer.getByText("calls weather").waitFor();
    await answer.getByLabel("Result of weather").fill("Rain");
    await answer.getByRole("button", { name: "Send results" }).click();
    await answers(page, own).getByText("done after 1").waitFor();
    expect({ own: messages().seen(mark).at(-1)?.body, other: bodies(mark)[0] }).toMatchObject({
      own: {
        max_tokens: 4096,
        messages: [
          { role: "user", content: [{ type: "text", text: mark }] },
          {
            role: "assistant",
            content: [{ text: "turn 0" }, { type: "tool_use", name: "weather", input: { turn: 0 } }],
          },
          { role: "user", content: [{ type: "tool_result", content: "Rain" }] },
        ],
        tools: [{ name: "weather", input_schema: { type: "object" } }],
      },
      other: { messages: [{ role: "user", content: mark }], tools: [tool], max_tokens: 4096 },
    });
    await page.getByRole("button", { name: "Copy as code" }).click();
    await page.locator("pre", { hasText: "/v1/messages" }).waitFor();
    await page.keyboard.press("Escape");
    await gateway.must("PUT", `/keys/${own.key.id}/disabled`, { disabled: true });
    await say(page, "And now?");
    await answers(page, own).getByText("The API key is disabled.").first().waitFor();
    expect(visit.problems().filter((problem) => !/status of 403/.test(problem))).toEqual([]);
  });

  it.each(["admin", "user"] as const)("tells an %s that a call waits for a slot, and why", async (as) => {
    const { gateway, upstream } = fixture;
    const minted = await gateway.mint(upstream.url, "chunks=100000,pace=20", { max_in_flight: 1 });
    const visit = await fixture.open({ as });
    const { page } = visit;
    const tenant = visit.tenant ?? minted.tenant;
    const { secret } = await gateway.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { name: "holder" });
    const held = new AbortController();
    onTestFinished(() => held.abort());
    const holder = await gateway.chat({ ...minted, secret }, { stream: true, signal: held.signal });
    expect(holder.status).toBe(200);
    await page.goto(`/playground?model=${minted.model.model_name}${as === "admin" ? `&tenant_id=${tenant.id}` : ""}`);
    await say(page, "Am I served?");
    const answer = answers(page, minted);
    await answer.getByText("Waiting for a slot for").waitFor();
    await answer
      .getByText(
        as === "admin"
          ? `1 request of ${tenant.name} for ${minted.model.model_name} is waiting: the model has reached its max concurrency. This request is first in the queue.`
          : /^Waiting for a slot for [\d.]+ m?s\. 1 running, 1 waiting \(longest .*\)\. The model's slots are all in use\.$/,
      )
      .waitFor();
    held.abort();
    await answer.getByText("w0 w1").waitFor();
    expect(await answer.getByText("Waiting for a slot for").count()).toBe(0);
    await page.getByRole("button", { name: "Stop" }).click();
    expect(visit.problems()).toEqual([]);
  });

  it("chooses the first model, so that a user types and sends", async () => {
    const { gateway, upstream } = fixture;
    const { model } = await gateway.mint(upstream.url);
    const { page, tenant } = await fixture.open({ as: "user" });
    await gateway.must("PATCH", `/tenants/${tenant?.id}/allowlist`, { allowed_models: [model.model_name] });
    await gateway.confirmed("the allowlist");
    await page.goto("/playground");
    await page.waitForURL(new RegExp(`model=${model.model_name}`));
    await say(page, "Hello");
    await page.getByRole("article", { name: model.model_name }).getByText("w0 w1 w2 w3").waitFor();
  });

  it("stops an answer, and ends the call with it", async () => {
    const { gateway, upstream } = fixture;
    const minted = await gateway.mint(upstream.url, "chunks=100000,pace=20");
    const visit = await fixture.open({ as: "user" });
    const { page } = visit;
    await begin(page, minted);
    const mark = `mark-${randomUUID()}`;
    await say(page, mark);
    await waitFor(
      async () => upstream.seen(mark)[0]?.chunksWritten ?? 0,
      (count) => count > 2,
    );
    await page.getByRole("button", { name: "Stop" }).click();
    await answers(page, minted).getByText("Stopped.").waitFor();
    await waitFor(
      async () => upstream.seen(mark)[0]?.cutOff,
      (isCutOff) => isCutOff === true,
    );
    expect(visit.problems()).toEqual([]);
  });

  it("keeps the key in its tab only until sign-out, explains a refusal and logs no key", async () => {
    const { gateway, upstream } = fixture;
    const minted = await gateway.mint(upstream.url);
    const visit = await fixture.open({ as: "admin" });
    const { page } = visit;
    await begin(page, minted);
    await page.reload();
    await say(page, "Hello again");
    await answers(page, minted).getByText("Cost").waitFor();
    await gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    await say(page, "And now?");
    await answers(page, minted).getByText("The API key is disabled.").first().waitFor();
    expect(visit.problems().filter((problem) => !/status of 403/.test(problem))).toEqual([]);
    const kept = await page.evaluate(() => [
      JSON.stringify(Object.entries(sessionStorage)),
      JSON.stringify(Object.entries(localStorage)) + document.cookie + location.href,
    ]);
    expect(kept.map((text) => text.includes(minted.secret))).toEqual([true, false]);
    expect(readFileSync(inject("logFile"), "utf8")).not.toContain(minted.secret);
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    expect(await page.evaluate(() => JSON.stringify(Object.entries(sessionStorage)))).not.toContain(minted.secret);
  });
});

describe("the playground without a key", () => {
  it("calls as the tenant that an admin chooses; the audit log names the admin", async () => {
    const { gateway, upstream } = fixture;
    const minted = await gateway.mint(upstream.url);
    const { page, problems } = await fixture.open({ as: "admin" });
    await page.goto("/playground");
    await page.getByText("Choose a tenant to call as").waitFor();
    await page.getByRole("combobox", { name: "Tenant", exact: true }).fill(minted.tenant.name);
    await page.getByRole("option", { name: minted.tenant.name }).click();
    await choose(page, "Model", minted);
    await say(page, `as a tenant ${randomUUID()}`);
    await answers(page, minted).getByText("Cost").waitFor();
    const [row] = await waitFor(
      async () => await gateway.allRows(minted.tenant.id),
      (rows) => rows.length === 1,
    );
    expect(row).toMatchObject({
      tenant_id: minted.tenant.id,
      status_code: 200,
      key_name: "Console (playground, batches)",
    });
    const [entry] = await gateway.must<AuditEntry[]>("GET", `/audit?entity_id=${row?.key_id}`);
    expect(entry).toMatchObject({ action: "create_key", actor: fixture.admin.email });
    expect(
      await page.evaluate(() => [...Object.values(sessionStorage), ...Object.values(localStorage)].join(" ")),
    ).not.toContain("sk_");
    expect(problems()).toEqual([]);
  });

  it("calls as the own tenant of a user, under its limits", async () => {
    const { gateway, upstream } = fixture;
    const { page, tenant } = await fixture.open({ as: "user" });
    const minted = await gateway.mint(upstream.url);
    await page.goto("/playground");
    await choose(page, "Model", minted);
    await say(page, "first");
    await answers(page, minted).getByText("Cost").waitFor();
    await gateway.must("PATCH", `/tenants/${tenant?.id}/status`, { status: "suspended" });
    await gateway.confirmed("the tenant");
    await say(page, "second");
    await answers(page, minted).getByText("403").first().waitFor();
  });
});
