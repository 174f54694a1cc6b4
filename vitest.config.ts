import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { withRuntimeMemory } from "./test/harness/runtime-memory.ts";
import { storeSink } from "./test/objects/store-sink.ts";

/** Tests with this tag are left to `npm run test:all`: those that wait for long, or compute for long. */
const LONG = "long";

const UNIT = ["{edge,control,shared,infra}/**/*.test.ts", "test/{lint,harness,simulate,bench}/**/*.test.ts"];
const SPEC = ["test/spec/**/*.test.ts", "test/sdk/**/*.test.ts"];
const FAULTS = ["test/faults/**/*.test.ts"];
/** Measures throughput: it wants the machine for itself, and that is not to be had within `npm test`. */
const SATURATION = "test/faults/saturation.test.ts";

/** Test files whose text matches. */
function filesWith(text: RegExp, patterns: readonly string[]): string[] {
  const files = globSync(patterns, { cwd: import.meta.dirname });
  return files.filter((file) => text.test(readFileSync(join(import.meta.dirname, file), "utf8")));
}

/** Unit tests that replace what is global, as clocks and timers: each needs a process of its own. */
const CLOCKS = filesWith(/\bvi\.[a-z]/, UNIT);

/** Files that have a test with the tag. */
const WITH_LONG_TESTS = filesWith(/tags: \["long"\]|@module-tag long/, [...UNIT, ...SPEC, ...FAULTS]);

/** The test files of such names in a room; throws for a name that is none's, so that none is lost when it is renamed. */
function filesNamed(room: string, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const files = globSync(`${room}/**/${name}.test.ts`, { cwd: import.meta.dirname });
    if (files.length === 0) throw new Error(`vitest.config.ts: ${room}/ has no ${name}.test.ts`);
    return files;
  });
}

/** Properties of which `npm test` tries a part only: test/harness/property-runs.ts. */
const SIZED_PROPERTIES = [
  ...filesNamed("test/simulate", ["adversary.property", "fairness.property", "exchanges.property"]),
  ...filesNamed("edge/domain", ["tenant-budget-authority.property"]),
];

/** Which tests of a project run by their tags. Each project has its own; the type knows the option of the command line. */
const only = (expression: string): object => ({ tagsFilter: [expression] });

const node = { environment: "node" as const, testTimeout: 60_000, hookTimeout: 60_000 };

/**
 * What differs by the driver of the database, once more on a real PostgreSQL: directly, and through the driver for Neon.
 * That is transactions, locks, conflicts, connections, types of columns and statements of many rows, and one suite of routes
 * of each resource. The rest of the control service runs once, on PGlite.
 */
const DRIVER_TESTS = filesNamed("control", [
  "alert-outbox",
  "alert-sender",
  "all-keys",
  "audit",
  "backup",
  "budgets",
  "expiry-watch",
  "fairshare",
  "idempotency",
  "job-leases",
  "mcp-servers",
  "model-endpoints",
  "outbox-publisher",
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
 * `npm test` runs `unit`, `clocks`, `objects`, `spec` and `faults`: `unit` and `clocks` stand beside the code; `objects` runs inside workerd; `spec`
 * talks to one whole stack over HTTP; `faults` starts and kills stacks of its own, one file at a time, a fault of each kind.
 * `npm run test:all` runs the rest: `long` has their tests with the tag `long`, `properties` tries properties at length, `workers` repeats what must be exact on a stack
 * with several Worker processes, and `postgres` and `neon` what differs by the driver of the database.
 */
export default defineConfig({
  test: {
    // A core is left to what the tests start: stacks, stores, upstreams.
    maxWorkers: Math.min(3, Math.max(2, availableParallelism() - 1)),
    tags: [{ name: LONG, description: "Waits or computes for long: `npm run test:all`." }],
    projects: [
      // without a process for each file: most of the time of hundreds of small ones was its start and the same imports again
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
        test: { name: "objects", include: ["test/objects/**/*.test.ts"], testTimeout: 60_000 },
      },
      {
        test: {
          ...node,
          ...only(`!${LONG}`),
          name: "spec",
          include: SPEC,
          maxConcurrency: 10,
          globalSetup: ["./test/harness/global-setup.ts"],
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
          fileParallelism: false,
          testTimeout: 180_000,
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
          globalSetup: ["./test/harness/fault-table.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
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
        },
      },
    ],
  },
});
