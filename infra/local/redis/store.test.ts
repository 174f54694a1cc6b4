/** The keys that the embedded store removes when it is full (docs/rules/local-stack.md). */
import { expect, it } from "vitest";
import { memoryBackend } from "./memory-backend.ts";

const MAX_BYTES = 100_000;
const call = async (backend: ReturnType<typeof memoryBackend>, ...command: [string, ...string[]]) =>
  await backend.call(command).catch(String);

it("removes cached answers for others, and nothing else that expires", async () => {
  const backend = memoryBackend(Date.now, MAX_BYTES);
  const owned = ["obj:one", "objs:tenant", "mcps:server:one"];
  for (const name of owned) await call(backend, "SET", name, "owner", "EX", "86400");
  for (let count = 0; count < 50; count += 1)
    await call(backend, "SET", `cache:tenant:${count}`, "x".repeat(5000), "EX", "600");
  const kept = await Promise.all(owned.map(async (name) => await call(backend, "GET", name)));
  expect({
    kept,
    firstCached: await call(backend, "GET", "cache:tenant:0"),
    lastCached: await call(backend, "EXISTS", "cache:tenant:49"),
  }).toEqual({
    kept: ["owner", "owner", "owner"],
    firstCached: null,
    lastCached: 1,
  });
});

it("refuses a write for which nothing may be removed", async () => {
  const backend = memoryBackend(Date.now, MAX_BYTES);
  for (let count = 0; count < 9; count += 1)
    await call(backend, "SET", `obj:${count}`, "x".repeat(5000), "EX", "86400");
  expect(await call(backend, "SET", "obj:last", "x".repeat(9000), "EX", "86400")).toContain("OOM");
  expect(await call(backend, "EXISTS", "obj:0")).toBe(1);
});
