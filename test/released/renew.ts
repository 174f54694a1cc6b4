/**
 * `npm run release:bundle -- <commit>`: builds the Worker as a released commit has it, and keeps it for the test of rollouts
 * (docs/platform.md#all-at-once). Run it after a release, before anything of the next one is merged.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { RELEASED_BUNDLE, RELEASED_FACTS, type ReleasedFacts } from "./released-worker.ts";

const ROOT = join(import.meta.dirname, "../..");

const [revision] = process.argv.slice(2);
if (revision === undefined) {
  process.stderr.write("usage: npm run release:bundle -- <commit of the release>\n");
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "gateway-release-"));
try {
  const commit = execFileSync("git", ["rev-parse", "--verify", `${revision}^{commit}`], {
    cwd: ROOT,
    encoding: "utf8",
  }).trim();
  const archive = execFileSync("git", ["archive", commit], { cwd: ROOT, maxBuffer: 2 ** 30 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const bundler = join(folder, "infra/local/workerd/bundle.ts");
  const { bundleWorker } = (await import(bundler)) as {
    bundleWorker: (minify: boolean) => Promise<{ code: Uint8Array }>;
  };
  const { code } = await bundleWorker(true);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  const sha256 = createHash("sha256").update(code).digest("hex");
  const facts: ReleasedFacts = { version, commit, sha256 };
  writeFileSync(RELEASED_BUNDLE, gzipSync(code, { level: 9 }));
  writeFileSync(RELEASED_FACTS, `${JSON.stringify(facts, null, 2)}\n`);
  process.stdout.write(`${version} (${commit.slice(0, 12)}): ${code.byteLength} bytes\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
