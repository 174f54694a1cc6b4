import { availableParallelism } from "node:os";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { withRuntimeMemory } from "./test/harness/runtime-memory.ts";
import { storeSink } from "./test/objects/store-sink.ts";

/** The control service's suite once more, on a real PostgreSQL: directly, and through the driver for Neon. */
const onRealDatabase = (name: "postgres" | "neon", more: string) => ({
  test: {
    name,
    environment: "node" as const,
    include: [
      "control/{alerts,api,backup,encryption,hot-store,kernel,publish,services,startup}/**/*.test.ts",
      "control/{autotune/autotune-model,health/model-health,jobs/job-leases}.test.ts",
      `test/database/${more}.test.ts`,
    ],
    globalSetup: ["./test/harness/control-database.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});

/**
 * Layers, fastest first (design §10). `unit` stands beside the code; `objects` runs inside workerd; `spec` talks to one
 * whole stack over HTTP, and `workers` repeats what must be exact on one with several Worker processes; `faults` starts and kills stacks of its own, one file at a time. `unit` runs the control service on
 * PGlite, which is one connection: `postgres` and `neon` repeat that, and `test/database` is about many at once.
 */
export default defineConfig({
  test: {
    // A core is left to what the tests start: stacks, stores, upstreams.
    maxWorkers: Math.min(3, Math.max(2, availableParallelism() - 1)),
    projects: [
      {
        test: {
          name: "unit",
          environment: "node",
          include: ["{edge,control,shared,infra}/**/*.test.ts", "test/{lint,harness,simulate,bench}/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      onRealDatabase("postgres", "*"),
      onRealDatabase("neon", "{conflicts,connections}"),
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
          name: "spec",
          environment: "node",
          include: ["test/spec/**/*.test.ts", "test/sdk/**/*.test.ts"],
          globalSetup: ["./test/harness/global-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "workers",
          environment: "node",
          include: ["test/spec/{budgets,custody,freshness,request-log}.test.ts"],
          globalSetup: ["./test/harness/workers-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "faults",
          environment: "node",
          include: ["test/faults/**/*.test.ts"],
          globalSetup: ["./test/harness/fault-table.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
