/** A value that is typed over one that another admin sets meanwhile: the person is told before it is replaced. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useConsole } from "../harness/browser/use-console.ts";

const fixture = useConsole();
const TOLD = "Someone else changed this while you were editing";
const SPEC = {
  partition: "gpu",
  launch_command: 'exec serve --port "$GATEWAY_SERVING_PORT"',
  serving_port: 8000,
  target_replicas: 0,
};

const must = async <T = unknown>(method: string, path: string, body?: unknown): Promise<T> =>
  await fixture.gateway.must<T>(method, path, body);
const newTenant = async (): Promise<Tenant> => await must<Tenant>("POST", "/tenants", { name: `t-${randomUUID()}` });
const newModel = async (): Promise<Model> =>
  await must<Model>("POST", "/models", { model_name: `m-${randomUUID()}`, health: { checks_enabled: false } });

it("does not replace another admin's number of replicas before the user was told", async () => {
  const { id, model_name } = await newModel();
  await must("PUT", `/models/${id}/managed`, { ...SPEC, enabled: false });
  const { page } = await fixture.open({ as: "admin" });
  await page.goto(`/deployments/${id}`);
  await page.getByRole("button", { name: "Scale" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Replicas").fill("3");
  await must("PUT", `/models/${id}/managed`, { ...SPEC, enabled: false, partition: "theirs", target_replicas: 2 });
  await dialog.getByRole("button", { name: "Scale" }).click();
  await dialog.getByText("Someone else changed this from 0 to 2 while you were editing").waitFor();
  const spec = async () => await must<{ partition: string; target_replicas: number }>("GET", `/models/${id}/managed`);
  expect((await spec()).target_replicas).toBe(2);
  await dialog.getByRole("button", { name: "Scale" }).click();
  await page.getByText(`${model_name}: 2 → 3 replicas`).waitFor();
  expect(await spec()).toMatchObject({ partition: "theirs", target_replicas: 3 });
  // the way back touches nothing else that was set meanwhile
  await must("PUT", `/models/${id}/managed`, { ...SPEC, enabled: false, partition: "later", target_replicas: 3 });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText(`${model_name}: 3 → 2 replicas`).waitFor();
  expect(await spec()).toMatchObject({ partition: "later", target_replicas: 2 });
  await must("DELETE", `/models/${id}/managed`);
});

it("does not replace another admin's number of slots of a cell before the user was told", async () => {
  const { page } = await fixture.open({ as: "admin" });
  await page.goto("/fairshare");
  const { cell, max_in_flight: before } = await must<{ cell: string; max_in_flight: number }>("GET", "/fairshare/live");
  await page.getByRole("button", { name: "Change" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox").fill(String(before + 2));
  await must("PUT", `/capacity?cell=${cell}`, { max_in_flight: before + 1 });
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Someone else changed this from").waitFor();
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Undo" }).waitFor();
  await dialog.waitFor({ state: "detached" });
  expect((await must<{ max_in_flight: number }>("GET", "/fairshare/live")).max_in_flight).toBe(before + 2);
  await must("PUT", `/capacity?cell=${cell}`, { max_in_flight: before });
});

it("approves nobody whom another admin has refused meanwhile", async () => {
  const { user } = await fixture.open({ as: "pending" });
  const { page } = await fixture.open({ as: "admin" });
  await page.goto(`/users?user_id=${user?.id}`);
  const approve = page.getByRole("dialog").getByRole("button", { name: "Approve" });
  await approve.waitFor();
  await must("PATCH", `/users/${user?.id}`, { status: "disabled" });
  await approve.click();
  await page.getByText("someone else already decided on").waitFor();
  expect(await must("GET", `/users/${user?.id}`)).toMatchObject({ status: "disabled", role: "user" });
});

it("typed into a policy stays when the policy is removed meanwhile, and can be set again", async () => {
  const { id } = await newTenant();
  const policy = { action: "block", input_scanners: ["ban_keywords"], ban_keywords: ["before"] };
  await must("PATCH", `/tenants/${id}/guardrails`, { policy });
  const { page } = await fixture.open({ as: "admin" });
  await page.goto(`/tenants/${id}?tab=policies`);
  await page.getByLabel("Banned keywords").fill("mine");
  await must("PATCH", `/tenants/${id}/guardrails`, { policy: null });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(TOLD).waitFor();
  expect(await page.getByLabel("Banned keywords").inputValue()).toBe("mine");
  await page.getByRole("button", { name: "Use theirs" }).click();
  await page.getByText("No policy: nothing is scanned.").waitFor();
});

it("typed into a policy removed meanwhile is stored as the form shows it, and undo removes it", async () => {
  const { id } = await newTenant();
  const policy = { action: "block", input_scanners: ["pii"], fail_open: true };
  await must("PATCH", `/tenants/${id}/guardrails`, { policy });
  const { page } = await fixture.open({ as: "admin" });
  const now = async () => (await must<Tenant>("GET", `/tenants/${id}`)).guardrails_policy;
  const open = page.getByLabel("Fail open");
  await page.goto(`/tenants/${id}?tab=policies`);
  await open.uncheck();
  await must("PATCH", `/tenants/${id}/guardrails`, { policy: null });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Keep mine" }).click();
  await page.getByLabel("pii").first().check();
  expect(await open.isChecked()).toBe(false);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Undo" }).waitFor();
  expect(await now()).toMatchObject({ action: "block", input_scanners: ["pii"], fail_open: false });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("No policy: nothing is scanned.").waitFor();
  expect(await now()).toBeNull();
});
