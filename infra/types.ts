/**
 * Type-checks every room with its own tsconfig (`npm run types`): each room sees only the globals of the platform on which
 * it runs. Writes the client's types first. Prints the compiler's findings; exit code 1 when any room fails.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const ROOMS = ["shared", "edge", "control", "infra", "browser", "test", "test/objects", "test/browser"];

function fails(script: string, ...args: readonly string[]): boolean {
  return spawnSync(process.execPath, [join(ROOT, script), ...args], { cwd: ROOT, stdio: "inherit" }).status !== 0;
}

const failed = [
  ...(fails("infra/client.ts") ? ["the client"] : []),
  ...ROOMS.filter((room) => fails("node_modules/typescript/bin/tsc", "-p", room)),
];
process.stdout.write(
  failed.length === 0 ? `types: ${ROOMS.length} rooms checked\n` : `types: ${failed.join(", ")} failed\n`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
