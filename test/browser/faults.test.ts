/**
 * What people see while something behind the console is away, slow, renewed or over. The console's server of this file runs in
 * the test's process, so that it and what is behind it can be stopped; the pages and the browser are those of everybody.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { pino } from "pino";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { BUILT_CONSOLE, ConsoleAssets } from "../../control/dashboard/assets.ts";
import { remoteManagement } from "../../control/dashboard/remote-management.ts";
import { useBrowser } from "../harness/browser/use-console.ts";
import { ADMIN, startConsole, type TestConsole } from "../harness/console.ts";

const newContext = useBrowser();
let testing: TestConsole;
let server: Server;
let url = "";
/** Whether connections to the console end at once, as when it is away: its port stays, which somebody else might take. */
let isAway = false;

beforeAll(async () => {
  testing = await startConsole({ GATEWAY_GRAFANA_URL: "https://grafana.example.org/x/" });
  await listen();
});
afterAll(async () => {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
  await testing.close();
});
beforeEach(async () => {
  isAway = false;
  testing.assets = ConsoleAssets.read(BUILT_CONSOLE);
  testing.management = async (request) => await testing.control.app.fetch(request);
  await testing.reset();
});

/** Serves the console at any port of this machine. */
async function listen(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const answer = getRequestListener(async (request, env) => await testing.app.fetch(request, env));
  server = createServer((request, response) => void answer(request, response));
  server.on("connection", (socket) => isAway && socket.destroy());
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A page on which the admin has signed in. */
async function opened(path: string): Promise<Page> {
  const context = await newContext({ baseURL: url });
  const answer = await context.request.post("/auth/local", { data: ADMIN, headers: { origin: url } });
  expect(answer.status()).toBe(200);
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(path);
  await page.getByRole("navigation").first().waitFor();
  return page;
}

/** Lets a minute pass for the page, which then reads its session again. */
async function passMinute(page: Page): Promise<void> {
  await page.clock.fastForward(61_000);
}

/** Searches for a text in the palette, which asks the Management API. */
async function search(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill(text);
}

it("a lost Management API is reported, the page stays, and its answer comes once it is back", async () => {
  await testing.control.request("POST", "/api/v1/tenants", { name: "tenant-away" });
  const page = await opened("/logs");
  const { management } = testing;
  testing.management = remoteManagement("http://127.0.0.1:9", pino({ level: "silent" }));
  await search(page, "tenant-aw");
  await page.getByText("Not everything could be searched.").waitFor();
  testing.management = management;
  await page.getByRole("dialog").getByRole("combobox").fill("tenant-awa");
  await page.getByText("tenant-away").first().waitFor();
});

it("a Management API that is slow holds nothing up, and its answer comes", async () => {
  await testing.control.request("POST", "/api/v1/tenants", { name: "tenant-slow" });
  const page = await opened("/logs");
  const { management } = testing;
  const { promise: go, resolve: release } = Promise.withResolvers<void>();
  testing.management = async (request) => {
    await go;
    return await management(request);
  };
  await search(page, "tenant-sl");
  await page.getByRole("option", { name: "Keys" }).waitFor({ state: "hidden" });
  await page.getByRole("dialog").getByRole("combobox").fill("tenant-slo");
  release();
  await page.getByText("tenant-slow").first().waitFor();
});

it("pages of load lead to Grafana where there is one", async () => {
  const page = await opened("/");
  const link = page.getByRole("link", { name: /Grafana/ });
  await link.waitFor();
  expect(await link.getAttribute("href")).toBe("https://grafana.example.org/x/d/inference-gateway?from=now-24h&to=now");
  await page.goto("/fairshare");
  await link.waitFor();
});

it("a cell that is down is in the list of what needs attention", async () => {
  const page = await opened("/logs");
  await testing.control.places.close();
  const items = await page.evaluate(
    async () => (await (await fetch("/api/live/overview/attention")).json()) as { kind: string }[],
  );
  expect(items.map(({ kind }) => kind)).toContain("cell_unreachable");
});

it("a console that is down leaves what is open, says so, and continues when it is back", async () => {
  const page = await opened("/logs");
  isAway = true;
  server.closeAllConnections();
  await passMinute(page);
  await page.getByRole("link", { name: "Keys" }).click();
  await page.getByRole("button", { name: "Reload" }).waitFor();
  isAway = false;
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("navigation").first().waitFor();
  expect(new URL(page.url()).pathname).toBe("/keys");
});

it("a new build is offered while a page is open, whose own parts still come", async () => {
  const page = await opened("/logs");
  const folder = mkdtempSync(join(tmpdir(), "gateway-console-"));
  cpSync(BUILT_CONSOLE, folder, { recursive: true });
  const manifest = join(folder, "manifest.json");
  writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, "utf8")), build: "ANOTHER" }));
  testing.assets = ConsoleAssets.read(folder);
  rmSync(folder, { recursive: true });
  testing.renew();
  await passMinute(page);
  await page.getByText("The console was updated.").waitFor();
  await page.getByRole("link", { name: "Keys" }).click();
  await page.waitForURL(`${url}/keys`);
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByText("The console was updated.").waitFor({ state: "detached" });
  await page.locator("html[data-build=ANOTHER]").waitFor({ state: "attached" });
});

it("a session that ends under an open page is asked for again over it, at the same address", async () => {
  const page = await opened("/logs?q=x");
  const address = page.url();
  testing.aheadMs = 12 * 3_600_000 + 1;
  await passMinute(page);
  const dialog = page.getByRole("dialog", { name: "You have been signed out" });
  await dialog.waitFor();
  await dialog.getByLabel("Email").fill(ADMIN.email);
  await dialog.getByLabel("Password").fill(ADMIN.password);
  await dialog.getByRole("button", { name: "Sign in", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  expect(page.url()).toBe(address);
});

it("after five wrong passwords the page says how long to wait", async () => {
  const context = await newContext({ baseURL: url });
  const page = await context.newPage();
  await page.goto("/sign-in");
  await page.getByLabel("Email").fill(ADMIN.email);
  for (let nth = 0; nth < 5; nth += 1) {
    await page.getByLabel("Password").fill(`wrong ${nth}`);
    const answered = page.waitForResponse(`${url}/auth/local`);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    expect((await answered).status()).toBe(401);
    await page.getByRole("alert").waitFor();
  }
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByText("Too many failed attempts. Try again in 1 minute.").waitFor();
  testing.aheadMs = 30_001;
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("navigation").first().waitFor();
});

/** Every page of an admin, with what is open on it. */
const PAGES = [
  "/",
  "/fairshare",
  "/logs",
  "/models",
  "/tenants",
  "/keys",
  "/users",
  "/reports",
  "/reports/statement",
  "/mcp",
  "/deployments",
  "/deployments/new",
  "/deployments?tab=recipes",
  "/audit",
  "/assistant",
  ...["alerts", "routing", "boons", "energy", "jobsched", "assistant", "retention", "about"].map(
    (tab) => `/settings?tab=${tab}`,
  ),
];

/** Pages of objects, which a test makes. */
async function pagesOfObjects(): Promise<readonly string[]> {
  const make = async (path: string, body: object): Promise<{ id: string; key?: { id: string } }> => {
    const answer = await testing.control.request("POST", `/api/v1${path}`, body);
    expect(answer.ok).toBe(true);
    return (await answer.json()) as { id: string; key?: { id: string } };
  };
  const mark = Math.random().toString(36).slice(2);
  const tenant = await make("/tenants", { name: `paged-${mark}` });
  const { key } = await make(`/tenants/${tenant.id}/keys`, {});
  const model = await make("/models", { model_name: `paged-${mark}`, health: { checks_enabled: false } });
  return [
    ...["overview", "access", "budget", "policies", "keys", "usage", "history", "edit"].map(
      (tab) => `/tenants/${tenant.id}?tab=${tab}`,
    ),
    ...["overview", "connection", "reliability", "capacity", "boons", "health", "usage", "history", "edit"].map(
      (tab) => `/models/${model.id}?tab=${tab}`,
    ),
    `/keys?key_id=${key?.id}`,
  ];
}

it("every page whose answers do not come shows that it waits, and then what has come", async () => {
  const paths = [...PAGES, ...(await pagesOfObjects())];
  const page = await opened("/logs");
  const { management } = testing;
  const main = page.locator("main");
  const seen = page.locator("main, [role=dialog]"); // a dialog hides the page under it
  const without: string[] = [];
  for (const path of paths) {
    await page.goto("about:blank"); // reads of the page before would hold every connection
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    testing.management = async (request) => {
      await go;
      return await management(request);
    };
    await page.goto(path);
    if (!(await isSoonThere(page, main.locator("[role=status][aria-label], h1")))) without.push(`${path} waits`);
    release();
    testing.management = management;
    if (!(await isSoonThere(page, seen.getByRole("heading")))) without.push(`${path} has come`);
    expect(await page.getByText("Something went wrong").count(), path).toBe(0);
  }
  expect(without).toEqual([]);
});

const UNREACHABLE = {
  error: { message: "the cell does not answer", type: "server_error", code: "cell_unreachable", param: null },
};

it("every page says what is missing, and still works, while its reads are refused with 502", async () => {
  const paths = [...PAGES, ...(await pagesOfObjects())];
  const page = await opened("/logs");
  const { management } = testing;
  const faults: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  testing.management = async (request) =>
    request.method === "GET" ? Response.json(UNREACHABLE, { status: 502 }) : await management(request);
  const without: string[] = [];
  for (const path of paths) {
    await page.goto(path);
    const told = page.locator("main").getByText(/cell_unreachable|Could not|–/);
    if (!(await isSoonThere(page, told))) without.push(path);
    expect({ path, shownFaults: await page.getByText("Something went wrong").count(), faults }).toEqual({
      path,
      shownFaults: 0,
      faults: [],
    });
  }
  expect(without).toEqual([]);
});

it("the health of a model that cannot be read is one failure, with one button to retry", async () => {
  const path = (await pagesOfObjects()).find((one) => one.endsWith("tab=health")) ?? "";
  const page = await opened("/logs");
  const { management } = testing;
  testing.management = async (request) =>
    new URL(request.url).pathname.endsWith("/health")
      ? Response.json(UNREACHABLE, { status: 502 })
      : await management(request);
  await page.goto(path);
  const failures = page.locator("main [role=alert]");
  expect(await isSoonThere(page, failures)).toBe(true);
  expect(await failures.count()).toBe(1);
});

/** Whether something comes, while time passes for the page: a failed read is tried again, and a wait is shown late. */
async function isSoonThere(page: Page, wanted: Locator): Promise<boolean> {
  await page.locator("nav").first().waitFor({ state: "attached" }); // a dialog may hide it
  let isOver = false;
  const isThere = wanted
    .first()
    .waitFor({ state: "attached" })
    .then(
      () => true,
      () => false,
    )
    .finally(() => {
      isOver = true;
    });
  while (!isOver) await page.clock.runFor(500);
  return await isThere;
}
