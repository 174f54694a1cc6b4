import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("the generated client agrees with the routes", async () => {
  const check = promisify(execFile)(process.execPath, [join(import.meta.dirname, "client.ts"), "--check"]);
  await expect(check.then(() => "current")).resolves.toBe("current");
});
