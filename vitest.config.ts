import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { programPath } from "./test/harness/program-path.ts";
import { withRuntimeMemory } from "./test/harness/runtime-memory.ts";
import { storeSink } from "./test/objects/store-sink.ts";
import { ReportToFile } from "./test/tiers/report.ts";

/**
 * Which of the tests of `unit`, `objects`, `spec` and `faults` run (test/tiers/steps.ts): those without a tag are for every
 * `npm test`, `check` and `processes` are for CI as well, `long` is for releases. Without a tier all of them run.
 */
const TIER = process.env["TEST_TIER"];
const TAGS = [
  { name: "check", description: "Repeats a rule that `npm test` shows, or takes long: runs in `npm run check`." },
  { name: "processes", description: "Runs in `npm test`, and in `npm run check` on two Worker processes." },
  { name: "long", description: "Waits or computes for long: runs in `npm run test:release`." },
];
const TAG_FILTERS: Readonly<Record<string, string>> = {
  test: "!check && !long",
  check: "(check || processes) && !long",
  release: "long",
};

const UNIT = [
  "{edge,control,shared,browser,infra}/**/*.test.{ts,tsx}",
  "test/{lint,harness,tiers,simulate,bench,compression,guardrails}/**/*.test.ts",
];
const SPEC = ["test/spec/**/*.test.ts", "test/sdk/**/*.test.ts"];
const FAULTS = ["test/faults/**/*.test.ts"];
/** Counts the slots that two groups hold over time, so it needs the machine for itself. */
const SATURATION = "test/faults/saturation.test.ts";

/** Needs a program that neither npm nor Debian has. */
const ENVOY = "test/fronts/envoy.test.ts";

/** Where the runs of vitest leave what each file took. */
const REPORT = process.env["TEST_REPORT"];

/** Test files whose text matches. */
function filesWith(text: RegExp, patterns: readonly string[]): string[] {
  const files = globSync(patterns, { cwd: import.meta.dirname });
  return files.filter((file) => text.test(readFileSync(join(import.meta.dirname, file), "utf8")));
}

/**
 * Tests start hundreds of processes of Node, which read the same modules: what one of them has compiled, the next one reads
 * here (https://nodejs.org/api/module.html#module-compile-cache).
 */
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/compiled-modules");

/** Test files at a time, in each of the two lanes that share two cores (test/tiers/steps.ts); each process may take a gigabyte. */
const WORKERS = 3;

const CLEAN_UP = "./test/harness/leave-nothing.ts";

/** These bound only what never comes, also beside other work (test/harness/wait-for.ts). */
const polls = { poll: { timeout: 150_000 } };
const HUNG_MS = 300_000;

/** The texts of files that have tests for the tier; reading other files would take as long as running them. */
const OF_TIER: Readonly<Record<string, RegExp>> = {
  test: /^(?!.*@module-tag (check|long))/s,
  check: /mainRows\(|tags: \[[^\]]*"(check|processes)"|@module-tag (check|processes)/,
  release: /tags: \[[^\]]*"long"|@module-tag long/,
};
const inTier = (patterns: readonly string[]): string[] => filesWith(OF_TIER[TIER ?? ""] ?? /^/, patterns);

/** The test files with these names in a room. Throws for a name that no file has, so that a renamed test is not lost. */
function filesNamed(room: string, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const files = globSync(`${room}/**/${name}.test.ts`, { cwd: import.meta.dirname });
    if (files.length === 0) throw new Error(`vitest.config.ts: ${room}/ has no ${name}.test.ts`);
    return files;
  });
}

/** Properties that `npm test` tries only in part: test/harness/property-runs.ts. */
const SIZED_PROPERTIES = filesWith(/\bpropertyRuns\(/, UNIT);

/** Selects the tests of the tier, although vitest's type only knows this option for the command line. */
const ofTier: object = TIER === undefined ? {} : { tagsFilter: [TAG_FILTERS[TIER]] };

/** What CI opens of the console; releases open all of it. */
const MAIN_WALKS = filesNamed("test/browser", ["alerts", "sign-in", "isolation", "operator-walk", "tenants", "portal"]);

const node = {
  environment: "node" as const,
  testTimeout: HUNG_MS,
  hookTimeout: HUNG_MS,
  expect: polls,
  // as the control service is started
  execArgv: ["--import", join(import.meta.dirname, "infra/local/quick-imports.mjs")],
};

/**
 * The tests of what depends on the database driver. They run again on a real PostgreSQL: directly, and through the driver
 * for Neon. They cover transactions, locks, conflicts, connections, types of columns, statements with many rows, and one
 * suite of routes of each resource. The rest of the control service runs once, on PGlite.
 */
const DRIVER_TESTS = filesNamed("control", [
  "alert-outbox",
  "alert-sender",
  "all-keys",
  "searches",
  "alert-log",
  "get-attention",
  "audit",
  "backup",
  "backup-schedule",
  "budgets",
  "expiry-watch",
  "fairshare",
  "idempotency",
  "job-leases",
  "large-answers",
  "managed-models",
  "mcp-servers",
  "model-endpoints",
  "outbox-publisher",
  "recipes",
  "resources",
  "resync",
  "seal-plain-secrets",
  "seal-secret",
  "seed-settings",
  "settings",
  "times",
  "database-errors",
]);
const onRealDatabase = (name: "postgres" | "neon", more: string) => ({
  test: {
    ...node,
    name,
    include: [...DRIVER_TESTS, `test/database/${more}.test.ts`],
    globalSetup: ["./test/harness/control-database.ts"],
  },
});

/**
 * Which projects and tags each tier runs is in test/tiers/steps.ts. `unit` is beside the code. `objects` runs inside workerd.
 * `spec` sends HTTP requests to one whole stack. `faults` starts and kills stacks of its own. `properties` tries properties at
 * length. `postgres` and `neon` run what depends on the database driver. `browser` opens the console in Chromium. `cluster`
 * starts several instances over one bucket. `fronts` puts Caddy, nginx and Envoy before a stack. `upgrades` starts this version on
 * the data of released ones. `slurm`, `containers`, `compose` and `servers` need what their own scripts make or install.
 */
export default defineConfig({
  test: {
    maxWorkers: WORKERS,
    tags: TAGS,
    reporters: REPORT === undefined ? ["default"] : ["default", new ReportToFile(REPORT)],
    projects: [
      // all files share one process: for hundreds of small files, starting a process and importing the same modules took
      // most of the time
      {
        test: {
          ...node,
          ...ofTier,
          name: "unit",
          include: inTier(UNIT),
          setupFiles: [CLEAN_UP],
          isolate: false,
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              bindings: { GATEWAY_REDIS_URL: "http://store.test" },
              outboundService: withRuntimeMemory(storeSink),
            },
          }),
        ],
        // all files of a worker share one runtime and one bundle of the Worker
        test: {
          name: "objects",
          include: inTier(["test/objects/**/*.test.ts"]),
          ...ofTier,
          testTimeout: HUNG_MS,
          expect: polls,
          isolate: false,
        },
      },
      {
        test: {
          ...node,
          ...ofTier,
          name: "spec",
          include: inTier(SPEC),
          isolate: false, // as above
          maxConcurrency: 10,
          globalSetup: ["./test/harness/global-setup.ts"],
        },
      },
      {
        test: {
          ...node,
          ...ofTier,
          name: "faults",
          include: inTier(FAULTS),
          exclude: [SATURATION],
          globalSetup: ["./test/harness/fault-table.ts"],
          isolate: false, // as above
        },
      },
      onRealDatabase("postgres", "*"),
      onRealDatabase("neon", "{conflicts,connections}"),
      {
        test: {
          ...node,
          name: "browser",
          include: TIER === "check" ? MAIN_WALKS : ["test/browser/**/*.test.ts"],
          globalSetup: ["./test/harness/browser/browser-setup.ts"],
          // a browser uses both cores
          fileParallelism: false,
          isolate: false, // as above
        },
      },
      {
        test: {
          ...node,
          name: "slurm",
          include: ["test/slurm/**/*.test.ts"],
          globalSetup: ["./test/slurm/setup.ts"],
          // they share one node
          fileParallelism: false,
        },
      },
      {
        test: {
          ...node,
          name: "cluster",
          include: ["test/cluster/**/*.test.ts"],
          globalSetup: ["./test/harness/fault-table.ts"],
          fileParallelism: false,
        },
      },
      {
        test: {
          ...node,
          name: "fronts",
          include: ["test/fronts/**/*.test.ts"],
          exclude: programPath("envoy") === undefined ? [ENVOY] : [],
          globalSetup: ["./test/fronts/setup.ts"],
          fileParallelism: false,
        },
      },
      {
        test: {
          ...node,
          name: "containers",
          include: ["test/containers/*.test.ts"],
          fileParallelism: false,
        },
      },
      {
        test: {
          ...node,
          name: "servers",
          include: ["test/servers/**/*.test.ts"],
          globalSetup: ["./test/harness/global-setup.ts"],
          fileParallelism: false,
        },
      },
      {
        test: {
          ...node,
          name: "compose",
          include: ["test/containers/compose/*.test.ts"],
        },
      },
      {
        test: {
          ...node,
          name: "upgrades",
          include: ["test/upgrades/**/*.test.ts"],
          fileParallelism: false,
        },
      },
      {
        test: {
          ...node,
          name: "properties",
          include: SIZED_PROPERTIES,
          setupFiles: [CLEAN_UP],
          env: { PROPERTY_RUNS: "full" },
        },
      },
      {
        test: {
          ...node,
          name: "saturation",
          include: [SATURATION],
          globalSetup: ["./test/harness/fault-table.ts"],
          fileParallelism: false,
        },
      },
    ],
  },
});
