/**
 * Set-up of the projects `unit` and `properties`; unit test files share processes. After each test it undoes what the test did
 * with `vi`, so the test need not. It fails a test that leaves anything else that leftovers.ts sees, and fails a file for what it
 * leaves outside its tests. It stops timeouts that are left.
 */
import { aroundAll, aroundEach } from "vitest";
import { cleanUp, type Found, lookAround, restoreWebClasses, stopTimeouts } from "./leftovers.ts";

function leftNothing(before: Found): void {
  const left = cleanUp(before);
  if (left.length > 0) throw new Error(`Left behind: ${left.join(", ")}`);
}

// test files are loaded after their set-up
const beforeFile = lookAround();

aroundAll(async (runFile) => {
  await runFile();
  restoreWebClasses();
  stopTimeouts();
  leftNothing(beforeFile);
});

aroundEach(async (runTest) => {
  const before = lookAround();
  await runTest();
  leftNothing(before);
});
