/**
 * `npm run console:shots`: pictures of the console's pages into docs/console/, with a page that shows them, and of walks by clicks,
 * each with a page of its own. They are of a whole gateway in use, so that they show what is there. Every page is taken in the light
 * theme at 1440 pixels, some also in the dark one and as on a phone. With names
 * (`-- portal walk-tenant`) only the pictures whose names begin so are made again. Exit code 1 when a picture is too large or a page
 * is not there.
 */

import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page, type Request } from "playwright-core";
import type { DashboardAccess } from "../../../infra/local/dashboard.ts";
import { launchChromium } from "../../harness/browser/chromium.ts";
import { makeTemplate } from "../../harness/database-template.ts";
import { Gateway } from "../../harness/gateway.ts";
import { CLIENT_ID, CLIENT_SECRET, PERSON_HEADER, startSignInProvider } from "../../harness/sign-in-provider.ts";
import { startTestStack } from "../../harness/test-stack.ts";
import { startTestUpstream } from "../../harness/test-upstream.ts";
import { Walk } from "../walks/walk.ts";
import { walkAsOperator } from "../walks/walk-operator.ts";
import { walkAsTenant } from "../walks/walk-tenant.ts";
import { SLOTS, startTraffic, type Traffic } from "./traffic.ts";

const FOLDER = join(import.meta.dirname, "../../../docs/console");
const THEMES = ["light", "dark"] as const;
type Look = (typeof THEMES)[number] | "phone";
const WIDE = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const MAX_BYTES = 85_000;
/** Of the pictures, 0 to 1. */
const QUALITY = 0.5;
/** Live pages read again all the time: what is shown once nothing has been asked for this long is the page. */
const QUIET_MS = 700;

/** A picture: the name of its files, its title, and the path that it is of. */
interface Shot {
  readonly name: string;
  readonly title: string;
  readonly path: (traffic: Traffic) => string;
  /** In addition to the light one. */
  readonly also: readonly ("dark" | "phone")[];
  readonly as: "admin" | "user";
}

const shotAs =
  (as: Shot["as"]) =>
  (name: string, title: string, path: string | Shot["path"], ...also: Shot["also"]): Shot => ({
    name,
    title,
    path: typeof path === "string" ? () => path : path,
    also,
    as,
  });
const shot = shotAs("admin");
const userShot = shotAs("user");
const month = new Date().toISOString().slice(0, 7);

const SHOTS: readonly Shot[] = [
  shot("overview", "Overview: what needs attention now", "/", "dark", "phone"),
  shot("alerts", "Alerts: what is wrong, and what to do", "/alerts"),
  shot("alerts-history", "Alerts: the last 30 days", "/alerts?tab=history"),
  shot("alerts-channels", "Alerts: who gets which", "/alerts?tab=channels"),
  shot("fairshare", "Fairshare: who waits, and why", "/fairshare", "dark"),
  shot("logs", "Logs: what was slow or refused, and why", "/logs", "dark", "phone"),
  shot("models", "Models: which serve, and how well", "/models", "dark"),
  shot("tenants", "Tenants", "/tenants"),
  shot(
    "tenant",
    "A tenant: spend, budget, what runs, what failed",
    ({ tenantId }) => `/tenants/${tenantId}`,
    "dark",
    "phone",
  ),
  shot("tenant-edit", "A tenant: all of it in one form", ({ tenantId }) => `/tenants/${tenantId}?tab=edit`),
  shot("model", "A model: what it does, and what it costs", "/models/llama-3.3-70b", "dark"),
  shot("model-health", "A model: its checks", "/models/llama-3.3-70b?tab=health"),
  shot("prices", "The price list", "/prices"),
  shot("deployments", "Deployments", "/deployments"),
  shot("deployment", "A deployment: what runs, and on what", ({ managedId }) => `/deployments/${managedId}?tab=spec`),
  shot("keys", "Keys", "/keys"),
  shot("batches", "Batches: how far they are", "/batches"),
  shot("playground", "Playground: a model, as a tenant", "/playground"),
  shot("mcp", "MCP servers", "/mcp"),
  shot("settings", "Settings: where alerts go", "/settings", "dark"),
  shot("backup", "Settings: backup and restore", "/settings?tab=backup"),
  userShot("portal", "A user's first page: can my application call?", "/portal", "dark", "phone"),
  userShot("portal-models", "Models and prices, as a user sees them", "/portal/models"),
  userShot("portal-usage", "What the own tenant has used, and what it cost", "/reports"),
  userShot("portal-limits", "What limits the own tenant", "/portal/limits"),
  userShot("portal-guide", "How an application calls", "/portal/guide"),
  shot("users", "Users", "/users"),
  shot("reports", "Costs: what was spent, on what, and what the month will cost", "/reports", "dark", "phone"),
  shot("service", "Service health: how requests end, and how fast they are", "/service", "dark"),
  shot(
    "statement",
    "A tenant's statement of a month, made for paper",
    ({ tenantId }) => `/reports/statement?tenant_id=${tenantId}&month=${month}`,
  ),
  shot("audit", "Audit: who changed what, and from where", "/audit"),
  shot("assistant", "Assistant", "/assistant"),
];

const TENANT_WALK = { name: "walk-tenant", title: "From an invitation to the first token" };
const OPERATOR_WALK = { name: "walk-operator", title: "From nothing to a tenant that calls a model" };
const PROVIDER = { id: "corp", name: "Corp" };
const WANTED = process.argv.slice(2);
/** The requests of each window that have not ended. */
const unanswered = new WeakMap<BrowserContext, Set<Request>>();
const isWanted = (name: string): boolean => WANTED.length === 0 || WANTED.some((begin) => name.startsWith(begin));

await makeTemplate();
const upstream = await startTestUpstream();
const provider = await startSignInProvider();
const browser = await launchChromium();
const stack = await startTestStack({
  GATEWAY_DASHBOARD: "1",
  GATEWAY_DASHBOARD_LISTEN: "127.0.0.1:0",
  GATEWAY_GLOBAL_MAX_IN_FLIGHT: String(SLOTS),
  OIDC_PROVIDERS: JSON.stringify([
    { ...PROVIDER, issuer: provider.issuer, client_id: CLIENT_ID, client_secret: CLIENT_SECRET },
  ]),
});
try {
  const gateway = new Gateway(stack);
  const traffic = await startTraffic(gateway, upstream);
  if (stack.dashboard === null) throw new Error("the stack has no console");
  mkdirSync(FOLDER, { recursive: true });
  for (const name of readdirSync(FOLDER)) if (/\.(png|webp)$/.test(name) && isWanted(name)) rmSync(join(FOLDER, name));
  const connected = await chromium.connect(browser.wsEndpoint());
  await takeAll(connected, stack.dashboard, gateway, traffic);
  traffic.end();
  if (isWanted(TENANT_WALK.name)) await walkOfTenant(connected, stack.dashboard, gateway);
  if (isWanted(OPERATOR_WALK.name)) await walkOfOperator(connected, stack.dashboard, gateway, upstream.url);
  writeFileSync(join(FOLDER, "README.md"), contents());
} finally {
  await browser.close();
  await stack.stop();
  await upstream.close();
  await provider.close();
}

/** A window of the console in which an admin, or nobody, has signed in. */
async function opened(
  connected: Browser,
  { url, email, password }: DashboardAccess,
  look: Look,
  isAdmin: boolean,
): Promise<BrowserContext> {
  const context = await connected.newContext({
    baseURL: url,
    viewport: look === "phone" ? PHONE : WIDE,
    colorScheme: look === "dark" ? "dark" : "light",
    reducedMotion: "reduce",
    timezoneId: "UTC",
    locale: "en-US",
  });
  const open = new Set<Request>();
  unanswered.set(context, open);
  const ended = (request: Request): void => void open.delete(request);
  context
    .on("request", (request) => void open.add(request))
    .on("requestfinished", ended)
    .on("requestfailed", ended);
  if (isAdmin) await context.request.post("/auth/local", { data: { email, password }, headers: { origin: url } });
  return context;
}

/** What the provider says of who signs in. */
function personNamed(name: string): Readonly<Record<string, string>> {
  const claims = { sub: name, email: `${name}@example.org`, name, email_verified: true };
  return { [PERSON_HEADER]: JSON.stringify(claims) };
}

async function takeAll(connected: Browser, access: DashboardAccess, gateway: Gateway, traffic: Traffic): Promise<void> {
  for (const look of [...THEMES, "phone"] as const) {
    for (const as of ["admin", "user"] as const) {
      const shots = SHOTS.filter((shot) => shot.as === as && isWanted(shot.name) && looksOf(shot).includes(look));
      if (shots.length === 0) continue;
      const context = await opened(connected, access, look, as === "admin");
      if (as === "user") {
        await context.request.get(`/auth/oidc/${PROVIDER.id}?return_to=/api/session`, { headers: personNamed("ann") });
        const [user] = await gateway.must<readonly { id: string }[]>("GET", "/users?q=ann@");
        const approved = { status: "active", tenant_id: traffic.tenantId };
        await gateway.must("PATCH", `/users/${user?.id}`, approved);
      }
      const page = await context.newPage();
      for (const { name, path } of shots) {
        await page.goto(path(traffic));
        await page.getByRole("heading", { level: 1 }).waitFor();
        await take(page, `${name}-${look}`);
      }
      await context.close();
    }
  }
}

async function walkOfTenant(connected: Browser, access: DashboardAccess, gateway: Gateway): Promise<void> {
  const tenantName = "vision lab";
  const tenant = await gateway.must<{ id: string }>("POST", "/tenants", { name: tenantName });
  await gateway.must("PATCH", `/tenants/${tenant.id}/allowlist`, { allowed_models: ["llama-3.3-70b"] });
  const [admins, people] = [
    await opened(connected, access, "light", true),
    await opened(connected, access, "light", false),
  ];
  await people.grantPermissions(["clipboard-read", "clipboard-write"]);
  await people.setExtraHTTPHeaders(personNamed("mia"));
  const [admin, person] = [await admins.newPage(), await people.newPage()];
  await admin.goto("/");
  await person.goto("/sign-in");
  const intro =
    "An admin has told somebody the console's address; the tenant and its models are there. The admin has signed in.";
  await writeWalk({ folder: FOLDER, ...TENANT_WALK, intro, take }, async (walk) => {
    const people = { admin, person, email: "mia@example.org", tenantName };
    await walkAsTenant({ walk, gateway, providerName: PROVIDER.name, ...people });
  });
}

async function walkOfOperator(
  connected: Browser,
  access: DashboardAccess,
  gateway: Gateway,
  address: string,
): Promise<void> {
  const context = await opened(connected, access, "light", false);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  await page.goto("/sign-in");
  const intro = "The gateway has been started, and has printed the console's address, email and password.";
  const model = { name: "gemma-3-27b", address, upstreamModel: "delay=60" };
  await writeWalk({ folder: FOLDER, ...OPERATOR_WALK, intro, take }, async (walk) => {
    await walkAsOperator({ walk, gateway, page, access, model, tenantName: "robotics" });
  });
}

async function take(page: Page, name: string): Promise<void> {
  await settled(page);
  const picture = await compressed(page.context(), await page.screenshot({ caret: "hide" }));
  writeFileSync(join(FOLDER, `${name}.webp`), picture);
  process.stdout.write(`${name}.webp: ${Math.ceil(picture.byteLength / 1000)} kB\n`);
  if (picture.byteLength <= MAX_BYTES) return;
  process.stderr.write(`${name}.webp is larger than ${MAX_BYTES / 1000} kB\n`);
  process.exitCode = 1;
}

/** A picture as WebP, which the browser itself can write. */
async function compressed(context: BrowserContext, png: Buffer): Promise<Buffer> {
  const page = await context.newPage();
  try {
    const webp = await page.evaluate(
      async ({ url, quality }) => {
        const image = new Image();
        image.src = url;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        canvas.getContext("2d")?.drawImage(image, 0, 0);
        return canvas.toDataURL("image/webp", quality);
      },
      { url: `data:image/png;base64,${png.toString("base64")}`, quality: QUALITY },
    );
    return Buffer.from(webp.replace("data:image/webp;base64,", ""), "base64");
  } finally {
    await page.close();
  }
}

/** Resolves when the page has asked for nothing for a while, and nothing on it is loading. */
async function settled(page: Page): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const again = (): void => {
    clearTimeout(timer);
    if (unanswered.get(page.context())?.size === 0) timer = setTimeout(resolve, QUIET_MS);
  };
  const context = page.context().on("request", again).on("requestfinished", again).on("requestfailed", again);
  again();
  await promise;
  context.off("request", again).off("requestfinished", again).off("requestfailed", again);
  await page.waitForFunction(() => document.querySelector('[role="status"][aria-label^="Loading"]') === null);
}

function looksOf({ also }: Shot): readonly Look[] {
  return ["light", ...also];
}

function contents(): string {
  const sections = SHOTS.map(
    (shot) =>
      `## ${shot.title}\n\n${looksOf(shot)
        .map((look) => `![${shot.title}, ${look}](${shot.name}-${look}.webp)`)
        .join("\n\n")}\n`,
  );
  const walks = [OPERATOR_WALK, TENANT_WALK]
    .map(({ name, title }) => `[${title.toLowerCase()}](${name}.md)`)
    .join(",\n");
  return `# The console in pictures\n\nMade by \`npm run console:shots\`, from a gateway in use on one machine. Walks by clicks:\n${walks}.\n\n${sections.join("\n")}`;
}

interface WalkPage {
  readonly folder: string;
  /** Of the page, and the beginning of the names of its pictures. */
  readonly name: string;
  readonly title: string;
  readonly intro: string;
  readonly take: (page: Page, name: string) => Promise<void>;
}

/** Walks through the console, and writes a page of what was clicked and what was seen. */
async function writeWalk(options: WalkPage, walkOn: (walk: Walk) => Promise<unknown>): Promise<void> {
  const { folder, name, title, intro, take } = options;
  const pictures: { readonly seen: string; readonly picture: string; readonly after: number }[] = [];
  const walk: Walk = new Walk(async (seen, page) => {
    const picture = `${name}-${pictures.length + 1}`;
    await take(page, picture);
    pictures.push({ seen, picture, after: walk.steps.length });
  });
  await walkOn(walk);
  const whole = `${walk.clicks} clicks and ${walk.steps.length - walk.clicks} other steps.`;
  const parts = pictures.map(({ seen, picture, after }, at) => {
    const done = steps(walk, pictures[at - 1]?.after ?? 0, after);
    return `${done}${seen}:\n\n![${seen}](${picture}.webp)\n`;
  });
  const rest = steps(walk, pictures.at(-1)?.after ?? 0);
  const text = [`# ${title}\n`, `${intro} ${whole}\n`, ...parts, rest].join("\n").trimEnd();
  writeFileSync(join(folder, `${name}.md`), `${text}\n`);
}

/** Steps as a numbered list; each says who does it, unless one person does all. */
function steps(walk: Walk, from: number, to?: number): string {
  const isAlone = new Set(walk.steps.map(({ who }) => who)).size === 1;
  const lines = walk.steps
    .slice(from, to)
    .map(({ who, did }, at) => `${from + at + 1}. ${isAlone ? "" : `${who}: `}${did}.`);
  return lines.length === 0 ? "" : `${lines.join("\n")}\n\n`;
}
