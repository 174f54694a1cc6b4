/** Managed models in a real browser, with a scheduler whose jobs the test moves on and model servers that answer probes. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { PORT_SPAN_DEFAULT } from "../../shared/schema/job-script.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { Jobsched } from "../../shared/schema/settings/jobsched.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { type SlurmDouble, startSlurmDouble } from "../harness/slurm-double.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();
const NODE = "n01";

/** Serves every probe at a port; null: somebody has it. 0 is any. */
async function serve(wanted: number): Promise<number | null> {
  const server = createServer((_, response) => response.end("{}"));
  const { promise, resolve } = Promise.withResolvers<boolean>();
  server.once("error", () => resolve(false)).listen(wanted, "127.0.0.1", () => resolve(true));
  if (!(await promise)) return null;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** The first port of two windows, each with a server at its first port. */
async function serveTwoWindows(): Promise<number> {
  for (;;) {
    const port = await serve(0);
    if (port === null || port + 2 * PORT_SPAN_DEFAULT > 65_535) continue;
    if ((await serve(port + PORT_SPAN_DEFAULT)) !== null) return port;
  }
}

/** Makes the double the scheduler of the stack until the test ends. */
async function useScheduler(): Promise<SlurmDouble> {
  const { double: slurm, close } = await startSlurmDouble();
  await fixture.gateway.must("PUT", "/settings/jobsched", {
    enabled: true,
    url: slurm.url,
    api_version: "v0.0.41",
    user: slurm.user,
    token: slurm.token,
    node_aliases: [{ host: NODE, ip: "127.0.0.1" }],
  });
  onTestFinished(async () => {
    // Pages of other tests would ask an address that answers no more.
    const none = { enabled: false, url: "", user: "", clear_token: true, node_aliases: [] };
    await fixture.gateway.must("PUT", "/settings/jobsched", none);
    close();
  });
  return slurm;
}

const jobsIn = (slurm: SlurmDouble, state: string): readonly number[] =>
  [...slurm.jobs.values()].filter(({ states }) => String(states) === state).map(({ id }) => id);

/** Gives every job that waits a node, once there are so many. */
async function startJobs(slurm: SlurmDouble, count: number): Promise<void> {
  for (const id of await waitFor(
    () => jobsIn(slurm, "PENDING"),
    (ids) => ids.length === count,
  ))
    slurm.move(id, { states: ["RUNNING"], nodes: NODE });
}

it("a recipe becomes replicas, which are scaled, restarted, lost and cleared", async () => {
  const name = `managed-${randomUUID()}`;
  const model = await fixture.gateway.must<Model>("POST", "/models", { model_name: name });
  const port = await serveTwoWindows();
  const slurm = await useScheduler();
  const visit = await fixture.open({ as: "admin" });
  const { page } = visit;
  const confirm = page.getByRole("alertdialog");
  const dialog = page.getByRole("dialog");
  const row = (job: number) => page.getByRole("row", { name: new RegExp(` ${job} ${NODE} `) });

  await page.goto("/deployments");
  await page.getByRole("button", { name: "New deployment" }).click();
  await page.getByRole("combobox", { name: "Model" }).fill(name);
  await page.getByRole("option", { name }).click();
  await page.getByLabel("Recipe").selectOption({ label: "vLLM" });
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("must not be blank").waitFor();
  await page.getByLabel("Partition").fill("gpus");
  await page.getByText("The scheduler has no partition gpus.").waitFor();
  await page.getByLabel("Partition").fill("gpu");
  await page.getByLabel("First port").fill(String(port));
  await page.locator("pre", { hasText: `gateway_port=${port}` }).waitFor();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();

  await startJobs(slurm, 2);
  await row(1).getByText("Healthy").waitFor();
  await row(2).getByText("Healthy").waitFor();
  expect(await page.getByText("Healthy", { exact: true }).count()).toBeGreaterThan(0);
  expect(await row(1).textContent()).toContain(String(port));

  await page.getByRole("button", { name: "Scale" }).click();
  await dialog.getByLabel("Replicas").fill("1");
  await dialog.getByText(/^One replica stops/).waitFor();
  await dialog.getByRole("button", { name: "Scale" }).click();
  await page.getByText(`${name}: 2 → 1 replica`).waitFor();
  await row(1).waitFor({ state: "detached" });
  expect(jobsIn(slurm, "CANCELLED")).toEqual([1]);

  await row(2).click();
  await dialog.getByRole("button", { name: "Restart" }).click();
  await confirm.getByRole("button", { name: "Restart" }).click();
  await page.getByText(`Restarting 1 replica of ${name}`).waitFor();
  await dialog.getByText("This replica is no longer in the list.").waitFor();
  await dialog.getByText("restarted replica").waitFor();
  await page.keyboard.press("Escape");
  await startJobs(slurm, 1);
  await row(3).getByText("Healthy").waitFor();

  slurm.move(3, { states: ["FAILED"] });
  await row(3).getByText("Lost").waitFor();
  await page.getByText("1 replica was lost").waitFor();
  await page.getByRole("button", { name: "Clear lost" }).click();
  await confirm.getByRole("button", { name: "Clear lost" }).click();
  await page.getByText(`Cleared the lost replicas of ${name}`).waitFor();
  await row(3).waitFor({ state: "detached" });

  await page.getByRole("tab", { name: "Activity" }).click();
  const changes = page.getByRole("table", { name: "Activity" });
  await changes.getByRole("row", { name: "cleared lost replicas" }).waitFor();
  const events = page.getByRole("table", { name: "Replica history" });
  for (const what of ["created replica", "restarted replica", "cleared lost replicas"])
    await events.getByRole("row", { name: what }).first().waitFor();
  // those that are gone too
  expect(await events.getByRole("row", { name: "created replica" }).count()).toBeGreaterThanOrEqual(3);
  await page.getByRole("tab", { name: "Spec" }).click();
  await page.getByText("Created from the recipe vLLM.").waitFor();
  expect(visit.problems()).toEqual([]);

  await page.getByRole("button", { name: "Delete deployment" }).click();
  await confirm.getByRole("button", { name: "Delete deployment" }).click();
  await page.getByText(`Deleted the deployment of ${name}`).waitFor();
  await page.getByText("The deployment was deleted while this page was open.").waitFor();
  await fixture.gateway.must("DELETE", `/models/${model.id}`);
});

it("says what keeps every job from moving, and where to change it", async () => {
  const { gateway } = fixture;
  const { page } = await fixture.open({ as: "admin" });
  await gateway.must("PUT", "/settings/jobsched", { enabled: false });
  await page.goto("/deployments");
  await page.getByText(/^The job scheduler is (not set up|off)/).waitFor();
  await useScheduler();
  await gateway.must("PUT", "/settings/jobsched", { token: "another" });
  await waitFor(
    async () => await gateway.must<Jobsched>("GET", "/settings/jobsched"),
    ({ last_outcome }) => last_outcome === "error",
  );
  await page.reload();
  await page.getByText("The provisioner is on hold").waitFor();
  const link = page.getByRole("link", { name: "Job scheduler settings" });
  expect(await link.getAttribute("href")).toContain("/settings");
});
