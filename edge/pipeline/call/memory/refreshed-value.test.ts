import { expect, it } from "vitest";
import { RefreshedValue } from "./refreshed-value.ts";

const TERMS = { freshMs: 100, keptMs: 5000 };

it("is read once while it is fresh, and again afterwards", async () => {
  const value = new RefreshedValue<number>(TERMS);
  let reads = 0;
  const read = async () => (reads += 1);
  expect({
    at0Ms: await value.get(0, read),
    at99Ms: await value.get(99, read),
    at100Ms: await value.get(100, read),
  }).toEqual({ at0Ms: 1, at99Ms: 1, at100Ms: 2 });
});

it("is the known value while another request reads, unless the read is slow or the value old", async () => {
  const value = new RefreshedValue<string>(TERMS);
  await value.get(0, async () => "old");
  const slow = Promise.withResolvers<string>();
  const reading = value.get(200, async () => await slow.promise);
  expect(await value.get(300, async () => "unasked")).toBe("old");
  expect(await value.get(1300, async () => "second")).toBe("second");
  slow.resolve("late");
  expect(await reading).toBe("late");
  // an older read does not replace a newer value
  expect(await value.get(1350, async () => "unasked")).toBe("second");
  const stuck = Promise.withResolvers<string>();
  const first = value.get(7000, async () => await stuck.promise);
  expect(await value.get(7001, async () => "own")).toBe("own");
  stuck.resolve("");
  await first;
});

it("stays in use when reading fails, until it is too old", async () => {
  const value = new RefreshedValue<string>(TERMS);
  const fail = async () => await Promise.reject(new Error("away"));
  await expect(value.get(0, fail)).rejects.toThrow("away");
  await value.get(0, async () => "known");
  expect(await value.get(4999, fail)).toBe("known");
  await expect(value.get(5000, fail)).rejects.toThrow("away");
  await expect(value.readAgain(100, fail)).rejects.toThrow("away");
});
