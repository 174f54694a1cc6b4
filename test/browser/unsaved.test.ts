/** What is typed and not saved is lost only after a question (docs/rules/console.md#forms). */
import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import { useConsole } from "../harness/browser/use-console.ts";

const fixture = useConsole();

const newModel = async (): Promise<Model> =>
  await fixture.gateway.must<Model>("POST", "/models", {
    model_name: `m-${randomUUID()}`,
    api_base: "http://127.0.0.1:9/v1",
    health: { checks_enabled: false },
  });
const question = (page: Page) => page.getByRole("alertdialog", { name: "Discard unsaved changes?" });
const keep = async (page: Page): Promise<void> => {
  await question(page).getByRole("button", { name: "Keep editing" }).click();
  await question(page).waitFor({ state: "hidden" });
};

it("a tab, a link, the back button and a reload ask before a form is taken away", async () => {
  const model = await newModel();
  const { page, problems } = await fixture.open({ as: "admin" });
  await page.goto("/models");
  await page.getByRole("link", { name: model.model_name }).click();
  await page.getByRole("button", { name: "Edit" }).click();
  const description = page.getByLabel("Description");
  await description.fill("typed");
  await page.getByRole("button", { name: "Back", exact: true }).click();
  await keep(page);
  await page.getByRole("navigation").getByRole("link", { name: "Tenants" }).click();
  await keep(page);
  await page.goBack();
  await keep(page);
  expect({ typed: await description.inputValue(), path: new URL(page.url()).pathname }).toEqual({
    typed: "typed",
    path: `/models/${model.id}`,
  });
  const asked = page.waitForEvent("dialog");
  const reloaded = page.evaluate(() => location.reload()).catch(() => undefined);
  const dialog = await asked;
  expect(dialog.type()).toBe("beforeunload");
  await dialog.dismiss();
  await reloaded;
  expect(await description.inputValue()).toBe("typed");

  // a window over the form leaves it where it is
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(`Settings saved for ${model.model_name}`).waitFor();
  await page.getByLabel("Check interval (s)").fill("77");
  await page.getByRole("button", { name: "Back", exact: true }).click();
  await question(page).getByRole("button", { name: "Discard" }).click();
  await page.getByRole("tab", { name: "Usage" }).click();
  await page.getByText("No requests in this period").first().waitFor();
  expect(problems()).toEqual([]);
});

it("Esc on a window with a form half filled in asks, and an empty one closes at once", async () => {
  const { page, problems } = await fixture.open({ as: "admin" });
  await page.goto("/tenants");
  const dialog = page.getByRole("dialog", { name: "Create a tenant" });
  await page.getByRole("button", { name: "Create tenant" }).click();
  await dialog.getByLabel("Name", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });

  await page.getByRole("button", { name: "Create tenant" }).click();
  const name = dialog.getByLabel("Name", { exact: true });
  const typed = `half-${randomUUID()}`;
  await name.fill(typed);
  await page.keyboard.press("Escape");
  await keep(page);
  expect(await name.inputValue()).toBe(typed);
  await dialog.getByRole("button", { name: "Create tenant" }).click();
  // what was saved is not asked about: the page of the new tenant opens
  await page.getByRole("heading", { level: 1, name: typed }).waitFor();

  await page.goto("/tenants");
  await page.getByRole("button", { name: "Create tenant" }).click();
  await name.fill("gone");
  await page.keyboard.press("Escape");
  await question(page).getByRole("button", { name: "Discard" }).click();
  await dialog.waitFor({ state: "hidden" });
  expect(problems()).toEqual([]);
});
