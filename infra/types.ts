/**
 * Type-checks every room with its own tsconfig (`npm run types`): each room sees only the globals of the platform on which
 * it runs. Prints the compiler's findings; exit code 1 when any room fails.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const ROOMS = ["shared", "edge", "control", "infra", "browser", "test", "test/objects", "test/browser"];

const failed = ROOMS.filter((room) => {
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  return spawnSync(process.execPath, [compiler, "-p", room], { cwd: ROOT, stdio: "inherit" }).status !== 0;
});
process.stdout.write(
  failed.length === 0 ? `types: ${ROOMS.length} rooms checked\n` : `types: ${failed.join(", ")} failed\n`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
