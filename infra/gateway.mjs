#!/usr/bin/env node
/**
 * `npx gateway`: the command line (control/cli) on a fitting Node, as infra/launch.mjs finds it.
 */
process.argv.splice(2, 0, "--omit=dev", "control/cli/main.ts");
await import("./launch.mjs");
