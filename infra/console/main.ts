/** Builds only the console, for `npm run dashboard`, which needs no other part of a build. Exit code 1 if it cannot be built. */
import { buildConsoleIfChanged } from "./build.ts";

try {
  await buildConsoleIfChanged();
} catch (error) {
  process.stderr.write(`the console cannot be built: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
