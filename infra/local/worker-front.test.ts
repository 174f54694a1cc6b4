import { expect, it } from "vitest";
import { requestsBegun } from "./worker-front.ts";

const PROCESS = { host: "127.0.0.1", port: 1 };

it("a check shows only requests that came before it, and is shared by those who wait for it", async () => {
  const checks: PromiseWithResolvers<"answered">[] = [];
  const begun = requestsBegun(async () => {
    const check = Promise.withResolvers<"answered">();
    checks.push(check);
    return await check.promise;
  });
  const ended: string[] = [];
  const wait = (name: string, process = PROCESS) => begun(process).then(() => ended.push(name));
  const first = wait("first");
  await expect.poll(() => checks.length).toBe(1);
  const later = [wait("second"), wait("third")];
  checks[0]?.resolve("answered");
  await first;
  await expect.poll(() => checks.length).toBe(2);
  expect(ended).toEqual(["first"]);
  // Another process is checked separately.
  const elsewhere = wait("elsewhere", { ...PROCESS, port: 2 });
  await expect.poll(() => checks.length).toBe(3);
  checks[2]?.resolve("answered");
  await elsewhere;
  checks[1]?.resolve("answered");
  await Promise.all(later);
  expect({ ended: ended.toSorted(), checks: checks.length }).toEqual({
    ended: ["elsewhere", "first", "second", "third"],
    checks: 3,
  });
});
