/**
 * Set-up of unit tests, whose files share one process. Undoes what a test did with `vi`, so that a test need not. Fails a
 * test, or a file for what it does outside its tests, that leaves anything else.
 */
import { aroundAll, aroundEach } from "vitest";
import { cleanUp, type Found, lookAround, restoreWebClasses } from "./leftovers.ts";

function leftNothing(before: Found): void {
  const left = cleanUp(before);
  if (left.length > 0) throw new Error(`Left behind: ${left.join(", ")}`);
}

// test files are loaded after their set-up
const beforeFile = lookAround();

aroundAll(async (runFile) => {
  await runFile();
  restoreWebClasses();
  leftNothing(beforeFile);
});

aroundEach(async (runTest) => {
  const before = lookAround();
  await runTest();
  leftNothing(before);
});
