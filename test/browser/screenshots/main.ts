/**
 * `npm run console:shots`: pictures of the console's pages, light and dark, into docs/console/, with a page that shows them. They
 * are of a whole gateway in use, so that they show what is there. Exit code 1 when a picture is too large or a page is not.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import type { DashboardAccess } from "../../../infra/local/dashboard.ts";
import { startStack } from "../../../infra/local/stack.ts";
import { launchChromium } from "../../harness/browser/chromium.ts";
import { makeTemplate } from "../../harness/database-template.ts";
import { Gateway } from "../../harness/gateway.ts";
import { stackEnv } from "../../harness/global-setup.ts";
import { startTestUpstream } from "../../harness/test-upstream.ts";
import { SLOTS, startTraffic, type Traffic } from "./traffic.ts";

const FOLDER = join(import.meta.dirname, "../../../docs/console");
const THEMES = ["light", "dark"] as const;
const SIZE = { width: 1280, height: 800 };
const MAX_BYTES = 150_000;
/** Live pages read again all the time: what is shown once nothing has been asked for this long is the page. */
const QUIET_MS = 700;

/** A picture: the name of its files, its title, and the path that it is of. */
interface Shot {
  readonly name: string;
  readonly title: string;
  readonly path: (traffic: Traffic) => string;
}

const SHOTS: readonly Shot[] = [
  { name: "overview", title: "Overview: must I act now?", path: () => "/" },
  { name: "fairshare", title: "Fairshare: who waits, and why", path: () => "/fairshare" },
  { name: "logs", title: "Logs: what was slow or refused, and why", path: () => "/logs" },
  { name: "tenants", title: "Tenants", path: () => "/tenants" },
  { name: "tenant", title: "A tenant: budget, hours, keys", path: ({ tenants }) => `/tenants/${tenants[0]?.id ?? ""}` },
  { name: "keys", title: "Keys", path: () => "/keys" },
  { name: "assistant", title: "Assistant", path: () => "/assistant" },
];

await makeTemplate();
const dataDir = mkdtempSync(join(tmpdir(), "gateway-shots-"));
const upstream = await startTestUpstream();
const browser = await launchChromium();
const stack = await startStack({
  env: stackEnv(dataDir, {
    GATEWAY_DASHBOARD: "1",
    GATEWAY_DASHBOARD_LISTEN: "127.0.0.1:0",
    GATEWAY_GLOBAL_MAX_IN_FLIGHT: String(SLOTS),
  }),
});
try {
  const traffic = await startTraffic(new Gateway(stack), upstream);
  if (stack.dashboard === null) throw new Error("the stack has no console");
  await takeAll(stack.dashboard, traffic);
  traffic.end();
} finally {
  await browser.close();
  await stack.stop();
  await upstream.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function takeAll({ url, email, password }: DashboardAccess, traffic: Traffic): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  for (const name of readdirSync(FOLDER)) if (name.endsWith(".png")) rmSync(join(FOLDER, name));
  const connected = await chromium.connect(browser.wsEndpoint());
  for (const theme of THEMES) {
    const context = await connected.newContext({
      baseURL: url,
      viewport: SIZE,
      colorScheme: theme,
      reducedMotion: "reduce",
      timezoneId: "UTC",
      locale: "en-US",
    });
    await context.request.post("/auth/local", { data: { email, password }, headers: { origin: url } });
    const page = await context.newPage();
    for (const shot of SHOTS) await take(page, shot, theme, traffic);
    await context.close();
  }
  writeFileSync(join(FOLDER, "README.md"), contents());
}

async function take(page: Page, { name, path }: Shot, theme: string, traffic: Traffic): Promise<void> {
  await page.goto(path(traffic));
  await page.getByRole("heading", { level: 1 }).waitFor();
  await settled(page);
  const picture = await page.screenshot({ path: join(FOLDER, `${name}-${theme}.png`), caret: "hide" });
  process.stdout.write(`${name}-${theme}.png: ${Math.ceil(picture.byteLength / 1000)} kB\n`);
  if (picture.byteLength <= MAX_BYTES) return;
  process.stderr.write(`${name}-${theme}.png is larger than ${MAX_BYTES / 1000} kB\n`);
  process.exitCode = 1;
}

/** Resolves when the page has asked for nothing for a while. */
async function settled(page: Page): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let timer = setTimeout(resolve, QUIET_MS);
  const again = (): void => {
    clearTimeout(timer);
    timer = setTimeout(resolve, QUIET_MS);
  };
  page.on("requestfinished", again);
  await promise;
  page.off("requestfinished", again);
}

function contents(): string {
  const sections = SHOTS.map(
    ({ name, title }) =>
      `## ${title}\n\n${THEMES.map((theme) => `![${title}, ${theme}](${name}-${theme}.png)`).join("\n\n")}\n`,
  );
  return `# The console in pictures\n\nMade by \`npm run console:shots\`, from a gateway in use on one machine.\n\n${sections.join("\n")}`;
}
