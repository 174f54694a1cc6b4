import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { withRuntimeMemory } from "./test/harness/runtime-memory.ts";
import { storeSink } from "./test/objects/store-sink.ts";

/** `npm run test:all` alone runs tests with this tag: tests that wait for long, or compute for long. */
const LONG = "long";
/** `npm run check` runs tests with this tag, `npm test` does not: repetitions of a rule whose main case `npm test` shows. */
const CHECK = "check";

const UNIT = [
  "{edge,control,shared,browser,infra}/**/*.test.{ts,tsx}",
  "test/{lint,harness,simulate,bench,compression,guardrails}/**/*.test.ts",
];
const SPEC = ["test/spec/**/*.test.ts", "test/sdk/**/*.test.ts"];
const FAULTS = ["test/faults/**/*.test.ts"];
/** Measures throughput, so it needs the machine for itself, which it does not have within `npm test`. */
const SATURATION = "test/faults/saturation.test.ts";

/** Needs a program that neither npm nor Debian brings: `npm run test:envoy`. */
const ENVOY = "test/fronts/envoy.test.ts";

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

/** Test files at a time, for two cores; each process may take more than a gigabyte. */
const WORKERS = 3;
/** The same of `spec`, whose tests wait more than they compute: three at a time leave a third of two cores idle. */
const SPEC_WORKERS = 4;

/** Unit tests that replace something global, such as clocks and timers: each file needs a process of its own. */
const CLOCKS = filesWith(/\bvi\.[a-z]/, UNIT);

/**
 * What is polled comes as soon as it can, so the deadline is only for what never comes: that of vitest, a second, is less than a
 * process needs to start on a busy machine. As in test/harness/wait-for.ts.
 */
const polls = { poll: { timeout: 20_000 } };

/** Files that have a test with the tag. */
const WITH_LONG_TESTS = filesWith(/tags: \["long"\]|@module-tag long/, [...UNIT, ...SPEC, ...FAULTS]);

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

/**
 * Selects the tests of a project by their tags. Each project has its own expression, although vitest's type only knows this
 * option for the command line.
 */
const only = (expression: string): object => ({ tagsFilter: [expression] });

const node = {
  environment: "node" as const,
  testTimeout: 60_000,
  // where tests have longer because they start stacks, hooks do that as well
  hookTimeout: 60_000,
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
 * `npm test` runs `unit`, `clocks`, `objects`, `spec` and `faults`. `unit` and `clocks` are beside the code. `objects` runs
 * inside workerd. `spec` then sends HTTP requests to one whole stack. `faults` then starts and kills stacks of its own, two
 * files at a time, one fault of each kind.
 * `npm run test:all` runs the rest. `long` has the tests of these projects with the tag `long`. `properties` tries
 * properties at length. `workers` repeats what must be exact, on a stack with several Worker processes. `postgres` and
 * `neon` run what depends on the database driver. `cluster` starts several instances over one bucket. `fronts` puts Caddy and
 * nginx before a stack. `upgrades` starts this version on the data of released ones. `browser` opens the console in Chromium.
 * `slurm` needs a machine that can bring a Slurm up: `npm run test:slurm`. `containers` needs images that
 * `npm run test:containers` builds; `compose` an engine that `npm run test:compose` starts, and `envoy` an Envoy on the path.
 */
export default defineConfig({
  test: {
    maxWorkers: WORKERS,
    tags: [
      { name: LONG, description: "Waits or computes for long: `npm run test:all`." },
      { name: CHECK, description: "Repeats a rule whose main case `npm test` shows: `npm run check`." },
    ],
    projects: [
      // all files share one process: for hundreds of small files, starting a process and importing the same modules took
      // most of the time
      { test: { ...node, ...only(`!${LONG}`), name: "unit", include: UNIT, exclude: CLOCKS, isolate: false } },
      { test: { ...node, ...only(`!${LONG}`), name: "clocks", include: CLOCKS } },
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
          include: ["test/objects/**/*.test.ts"],
          testTimeout: 60_000,
          expect: polls,
          isolate: false,
        },
      },
      {
        test: {
          ...node,
          ...only(`!${LONG}`),
          name: "spec",
          include: SPEC,
          isolate: false, // as above
          maxConcurrency: 10,
          globalSetup: ["./test/harness/global-setup.ts"],
          // after the others, because projects with different numbers of workers do not run at once
          sequence: { groupOrder: 1 },
          maxWorkers: SPEC_WORKERS,
        },
      },
      {
        test: {
          ...node,
          ...only(`!${LONG}`),
          name: "faults",
          include: FAULTS,
          exclude: [SATURATION],
          globalSetup: ["./test/harness/fault-table.ts"],
          // after the others, because a stack that starts beside three other test files takes too long to wait for
          sequence: { groupOrder: 2 },
          maxWorkers: 2,
          isolate: false, // as above
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      onRealDatabase("postgres", "*"),
      onRealDatabase("neon", "{conflicts,connections}"),
      {
        test: {
          ...node,
          name: "workers",
          include: ["test/spec/{budgets,custody,freshness,request-log}.test.ts"],
          globalSetup: ["./test/harness/workers-setup.ts"],
        },
      },
      {
        test: {
          ...node,
          ...only(LONG),
          name: "long",
          include: WITH_LONG_TESTS,
          exclude: [SATURATION],
          maxConcurrency: 10,
          globalSetup: ["./test/harness/global-setup.ts", "./test/harness/fault-table.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          ...node,
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          globalSetup: ["./test/harness/browser/browser-setup.ts"],
          // after the others and one file at a time: a browser uses both cores
          sequence: { groupOrder: 2 },
          fileParallelism: false,
          isolate: false, // as above
          // some walk through thirty pages
          testTimeout: 180_000,
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
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...node,
          name: "cluster",
          include: ["test/cluster/**/*.test.ts"],
          globalSetup: ["./test/harness/fault-table.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          ...node,
          name: "fronts",
          include: ["test/fronts/**/*.test.ts"],
          exclude: [ENVOY],
          globalSetup: ["./test/fronts/setup.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          ...node,
          name: "envoy",
          include: [ENVOY],
          globalSetup: ["./test/fronts/setup.ts"],
          testTimeout: 180_000,
        },
      },
      {
        test: {
          ...node,
          name: "containers",
          include: ["test/containers/*.test.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
        },
      },
      {
        test: {
          ...node,
          name: "compose",
          include: ["test/containers/compose/*.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          ...node,
          name: "upgrades",
          include: ["test/upgrades/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      { test: { ...node, name: "properties", include: SIZED_PROPERTIES, env: { PROPERTY_RUNS: "full" } } },
      {
        test: {
          ...node,
          name: "saturation",
          include: [SATURATION],
          globalSetup: ["./test/harness/fault-table.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
