/**
 * `npm run build`: bundles the Worker into dist/ and checks its compressed size, because the platform limits the size and
 * every cold start reads the bundle. Exit code 1 when the bundle cannot be built or is too large.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { bundleWorker } from "./local/workerd/bundle.ts";

/**
 * The largest compressed bundle that passes, about 5 % above today's. `import { z } from "zod"` in a single file adds 65
 * KiB; `import * as z` does not.
 */
const GZIP_BUDGET_BYTES = 247_000;

const kib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;

try {
  const { code } = await bundleWorker(true);
  const gzipBytes = gzipSync(code, { level: 9 }).byteLength;
  const folder = join(import.meta.dirname, "../dist");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "worker.mjs"), code);
  console.log(
    `dist/worker.mjs: ${kib(code.byteLength)}, ${kib(gzipBytes)} compressed (budget ${kib(GZIP_BUDGET_BYTES)})`,
  );
  if (gzipBytes > GZIP_BUDGET_BYTES) {
    console.error(
      "the compressed bundle is larger than its budget: find out what came in, or raise the budget on purpose",
    );
    process.exitCode = 1;
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
