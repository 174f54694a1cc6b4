/** Today's Worker as `npm run deploy` uploads it: what wrangler makes of the sources, made small. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");

/** Builds it without uploading. Throws when wrangler cannot. */
export function buildUploadedWorker(): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), "gateway-upload-"));
  try {
    const args = ["deploy", "--dry-run", "--env", "production", "--outdir", folder];
    const env = { ...process.env, CI: "true", WRANGLER_SEND_METRICS: "false" };
    execFileSync(process.execPath, [WRANGLER, ...args], { cwd: ROOT, env, stdio: ["ignore", "ignore", "inherit"] });
    return readFileSync(join(folder, "worker.js"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
