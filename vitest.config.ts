import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { storeSink } from "./test/objects/store-sink.ts";

/**
 * Layers, fastest first (design §10). `unit` stands beside the code; `objects` runs inside workerd; `spec` talks to one
 * whole stack over HTTP; `faults` starts and kills stacks of its own, one file at a time.
 */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: "unit",
          environment: "node",
          include: ["{edge,control,shared,infra}/**/*.test.ts", "test/{lint,harness,simulate}/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        plugins: [
          cloudflareTest({ wrangler: { configPath: "./wrangler.toml" }, miniflare: { outboundService: storeSink } }),
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
          name: "faults",
          environment: "node",
          include: ["test/faults/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
