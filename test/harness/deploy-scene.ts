/**
 * Deployments by `npm run deploy` in a world of their own: wrangler is the real one, and talks to a server that stands in for
 * the platform's API; the stores, the control service and the Worker that answers are real ones. Which version answers a
 * request is decided here, as the platform would.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { DATABASES } from "../../infra/deploy/databases.ts";
import { type Deployment, deploy } from "../../infra/deploy/deploy.ts";
import { Interrupted } from "../../infra/deploy/interruption.ts";
import { deployOptions, readDeployArguments } from "../../infra/deploy/options.ts";
import { wranglerAt } from "../../infra/deploy/run-command.ts";
import { readWorkerConfig } from "../../infra/deploy/worker-config.ts";
import { WORKER_RULES } from "../../infra/deploy/worker-rules.ts";
import { type RunWrangler, Wrangler } from "../../infra/deploy/wrangler.ts";
import type { CommandResult } from "../../infra/deploy/wrangler-answer.ts";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { WORKER_VERSION_HEADER } from "../../shared/wire/worker-version.ts";
import { Gateway, type Minted } from "./gateway.ts";
import { stackEnv } from "./global-setup.ts";
import { BEFORE, type PlatformState, type PlatformWorker, platformBefore, startPlatformApi } from "./platform-api.ts";
import { type SharedStores, startSharedStores } from "./shared-stores.ts";
import { startTestUpstream, type TestUpstream } from "./test-upstream.ts";

const ROOT = join(import.meta.dirname, "../..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const WORKER = "inference-gateway-production";
export const DEPLOYED_KEY = Buffer.alloc(32, 7).toString("base64");
export const DEPLOYED_PEPPER = "pepper-of-the-test";
const ADMIN_TOKEN = "admin-token-of-the-test-of-deployments";
const OVERRIDE = "cloudflare-workers-version-overrides";

export interface DeployOutcome {
  readonly ok: boolean;
  /** What the operator read. */
  readonly lines: readonly string[];
  /** What changed at the platform; the version before is called `before`, the new one `after`. */
  readonly changes: readonly string[];
}

/** How the platform answers requests to the Worker. */
interface Edge {
  /** Whether a version that is asked for by name is found. */
  followsNames: boolean;
  /** How many requests the version before still answers, whatever was deployed. */
  behind: number;
  /** How many requests the new version refuses because their Cell is still of the version before. */
  objectsBehind: number;
  /** Whether something between here and the Worker removes the header with the version. */
  hidesVersion: boolean;
  /** Called when a request comes after one that the version before has answered. */
  whenAskedAgain: (() => void) | null;
}

let folder: string;
let stores: SharedStores;
let stack: Stack;
let upstream: TestUpstream;
let gateway: Gateway;
let minted: Minted;
let configPath: string;
/** Which names of the outside world lead where, as a resolver would know it. */
let places: Readonly<Record<string, string>>;
/** The versions that verifying requests asked for, in order. */
let overrides: (string | null)[];
let api: Awaited<ReturnType<typeof startPlatformApi>>;
let edge: Edge;
let answeredBehind = false;
/** Results that are the same each time. */
const constant = new Map<string, CommandResult>();

/** `fetch` in a world in which the names of {@link places} exist. */
async function request(url: string, init: RequestInit = {}): Promise<Response> {
  const { hostname, pathname, search } = new URL(url);
  const place = places[hostname];
  if (place === undefined)
    throw new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ENOTFOUND" }) });
  const at = new URL(`${pathname}${search}`, place);
  if (hostname !== "gateway.example.com") return await fetch(at, init);
  const headers = new Headers(init.headers);
  if (pathname === "/v1/chat/completions") overrides.push(headers.get(OVERRIDE));
  headers.set("x-test-version", chosenVersion(headers.get(OVERRIDE)));
  const version = headers.get("x-test-version") ?? "";
  const isVerifying = headers.get("authorization") === `Bearer ${minted.secret}`;
  if (isVerifying && version !== BEFORE && edge.objectsBehind > 0) {
    edge.objectsBehind -= 1;
    const error = { code: "scheduler_unavailable" };
    return Response.json({ error }, { status: 503, headers: { [WORKER_VERSION_HEADER]: version } });
  }
  const response = await fetch(at, { ...init, headers });
  if (!edge.hidesVersion) return response;
  const hidden = new Response(response.body, response);
  hidden.headers.delete(WORKER_VERSION_HEADER);
  return hidden;
}

/** Which version gets a request: the one that is asked for by name if it is deployed, or that with most traffic. */
function chosenVersion(override: string | null): string {
  const traffic = api.state.worker?.traffic ?? [];
  if (edge.behind > 0) {
    if (answeredBehind) edge.whenAskedAgain?.();
    answeredBehind = true;
    edge.behind -= 1;
    return BEFORE;
  }
  const named = /^inference-gateway-production="([^"]+)"$/.exec(override ?? "")?.[1];
  const found = edge.followsNames ? traffic.find(({ version_id }) => version_id === named) : undefined;
  const most = traffic.toSorted((one, other) => other.percentage - one.percentage)[0];
  return (found ?? most)?.version_id ?? "";
}

/** The real wrangler, which builds once, and asks once who is signed in. */
function wranglerOf(interrupted: AbortSignal, isSignedIn: boolean): RunWrangler {
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    XDG_CONFIG_HOME: folder,
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    CLOUDFLARE_API_BASE_URL: api.url,
    ...(isSignedIn ? { CLOUDFLARE_API_TOKEN: "token-of-the-test" } : {}),
  };
  const run = wranglerAt({ command: [process.execPath, WRANGLER], cwd: ROOT, env, interrupted });
  return async (args, how) => {
    const isConstant = args.includes("--dry-run") || (args[0] === "whoami" && isSignedIn);
    if (!isConstant) return await run(args, how);
    const result = constant.get(args.slice(0, 2).join(" ")) ?? (await run(args, how));
    constant.set(args.slice(0, 2).join(" "), result);
    return result;
  };
}

interface Change extends Partial<Deployment> {
  readonly isSignedIn?: boolean;
  /** Aborts when the operator interrupts the command. */
  readonly interrupt?: AbortController;
  /** Whether pauses end at once, and the clock says that they did not. */
  readonly isHastened?: boolean;
}

/** Deploys with these arguments; what the operator has set and what the platform is can be changed. */
async function run(
  args: readonly string[] = [],
  more: Readonly<Record<string, string | undefined>> = {},
  { isSignedIn = true, interrupt = new AbortController(), isHastened = false, ...change }: Change = {},
): Promise<DeployOutcome> {
  const own = {
    ...stores.env,
    GATEWAY_ENCRYPTION_KEY: DEPLOYED_KEY,
    GATEWAY_API_KEY_PEPPER: DEPLOYED_PEPPER,
    GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
    GATEWAY_CLICKHOUSE_URL: undefined,
    GATEWAY_API_KEY: minted.secret,
    GATEWAY_PROXY_BASE_URL: "https://gateway.example.com/",
    GATEWAY_ADMIN_BASE_URL: "https://control.example.com",
    ...more,
  };
  const { values } = readDeployArguments(["--env", "production", "--model", minted.model.model_name, ...args]);
  const { signal: interrupted } = interrupt;
  const lines: string[] = [];
  let skippedMs = 0;
  const ok = await deploy(
    {
      options: deployOptions(values, own),
      release: "1.2.3",
      top: await readWorkerConfig(configPath, null),
      config: await readWorkerConfig(configPath, "production"),
      own,
      rules: WORKER_RULES,
      runtimeDate: "2026-11-17",
      today: "2026-11-24",
      ...change,
    },
    {
      wrangler: new Wrangler(wranglerOf(interrupted, isSignedIn), configPath, "production"),
      databases: {
        pending: async (at) => await DATABASES.pending(at),
        migrate: async (at) =>
          await DATABASES.migrate({ ...at, clickhouse: { ...at.clickhouse, url: stores.env.GATEWAY_CLICKHOUSE_URL } }),
      },
      request,
      now: () => performance.now() + skippedMs,
      pause: async (ms) => {
        if (isHastened) skippedMs += ms;
        else await pause(ms);
        interrupted.throwIfAborted();
      },
      interrupted,
      say: (line) => lines.push(line),
    },
  );
  const printed = lines.join("\n");
  const secrets = [DEPLOYED_KEY, DEPLOYED_PEPPER, ADMIN_TOKEN, minted.secret, stores.env.GATEWAY_REDIS_TOKEN];
  expect(secrets.filter((secret) => printed.includes(secret))).toEqual([]);
  return { ok, lines: lines.map(named), changes: api.state.changes.map(named) };
}

export const problemsOf = ({ lines }: DeployOutcome): readonly string[] =>
  lines.filter((line) => line.startsWith("wrong "));

/** What a deployment said after its checks and its plan. */
export const stepsOf = ({ lines }: DeployOutcome): readonly string[] =>
  lines.filter((line) => !/^(ok {4}|wrong |plan)/.test(line));

export function interruptOf(): AbortController & { readonly now: () => void } {
  const controller = new AbortController();
  return Object.assign(controller, { now: () => controller.abort(new Interrupted("interrupted")) });
}

/** A text in which the version before and the new one have names. */
function named(text: string): string {
  const after = api.state.worker?.versions.at(-1)?.id;
  const known = text.replaceAll(BEFORE, "before");
  return after === undefined ? known : known.replaceAll(after, "after");
}

/** Registers the hooks; the parts are there once tests run. */
export function useDeployScene() {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "gateway-deploy-test-"));
    [stores, upstream] = await Promise.all([startSharedStores(), startTestUpstream()]);
    const secrets = {
      GATEWAY_ENCRYPTION_KEY: DEPLOYED_KEY,
      GATEWAY_API_KEY_PEPPER: DEPLOYED_PEPPER,
      GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
    };
    stack = await startStack({
      env: stackEnv(join(folder, "data"), { ...stores.env, ...secrets }),
      workerEntry: "test/harness/versioned/worker.ts",
    });
    api = await startPlatformApi(WORKER, platformBefore());
    gateway = new Gateway(stack);
    minted = await gateway.mint(upstream.url);
    places = {
      "redis.example.com": stores.env.GATEWAY_REDIS_URL,
      "clickhouse.example.com": stores.env.GATEWAY_CLICKHOUSE_URL,
      "control.example.com": stack.adminUrl,
      "gateway.example.com": stack.proxyUrl,
    };
    const text = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
    const vars = ["REDIS_URL", "CLICKHOUSE_URL"].map(
      (name) => `GATEWAY_${name} = "https://${name.split("_")[0]?.toLowerCase()}.example.com"`,
    );
    // Wrangler finds the sources from where its file is.
    configPath = join(folder, "wrangler.toml");
    const own = [...vars, 'GATEWAY_INTERNAL_BASE_URL = "https://control.example.com"'].join("\n");
    const main = `main = "${join(ROOT, "edge/worker.ts")}"`;
    const routed = text.replace(
      /^\[env\.production\]$/m,
      `$&\nroutes = [{ pattern = "gateway.example.com", custom_domain = true }]`,
    );
    const production = routed.replace("[env.production.vars]\n", `[env.production.vars]\n${own}\n`);
    writeFileSync(configPath, production.replace('main = "edge/worker.ts"', main));
  });
  afterAll(async () => {
    await stack.stop();
    await Promise.all([stores.close(), upstream.close(), api.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  beforeEach(() => {
    overrides = [];
    edge = { followsNames: true, behind: 0, objectsBehind: 0, hidesVersion: false, whenAskedAgain: null };
    answeredBehind = false;
    api.state = platformBefore();
  });

  return {
    run,
    /** What the platform remembers: before a run what a test wants, after it what became of it. */
    get platform() {
      return api.state;
    },
    /** The Worker of the account. Throws when it has none. */
    get worker() {
      return workerOf(api.state);
    },
    get versionBefore() {
      const [version] = workerOf(api.state).versions;
      if (version === undefined) throw new Error("the Worker has no version");
      return version;
    },
    get edge() {
      return edge;
    },
    /** The versions with traffic, by the names of {@link DeployOutcome.changes}. */
    traffic: (): Readonly<Record<string, number>> =>
      Object.fromEntries((api.state.worker?.traffic ?? []).map((each) => [named(each.version_id), each.percentage])),
    get stores() {
      return stores;
    },
    get stack() {
      return stack;
    },
    get gateway() {
      return gateway;
    },
    get minted() {
      return minted;
    },
    /** The versions that verifying requests asked for, in order. */
    get overrides(): readonly (string | null)[] {
      return overrides;
    },
  };
}

function workerOf({ worker }: PlatformState): PlatformWorker {
  if (worker === null) throw new Error("the account has no Worker");
  return worker;
}
