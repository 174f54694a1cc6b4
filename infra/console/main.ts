/** Builds the console alone, for `npm run dashboard`, which needs nothing else of a build. Exit code 1 when it cannot be built. */
import { buildConsoleIfChanged } from "./build.ts";

try {
  await buildConsoleIfChanged();
} catch (error) {
  process.stderr.write(`the console cannot be built: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
