/**
 * The overrides of package.json hold for every npm with which the lock file is installed: npm 9, which Debian 13 has, does not
 * apply one to a preliminary version unless its key names that version, and then refuses the lock file.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";

const read = (name: string): unknown => JSON.parse(readFileSync(join(import.meta.dirname, "..", name), "utf8"));
const overrides = z
  .record(z.string(), z.record(z.string(), z.string()))
  .parse(z.looseObject({ overrides: z.unknown() }).parse(read("package.json")).overrides);
const { packages } = z
  .looseObject({
    packages: z.record(z.string(), z.looseObject({ dependencies: z.record(z.string(), z.string()) }).partial()),
  })
  .parse(read("package-lock.json"));

it.each(Object.entries(overrides))("the keys of %s name a preliminary version that it wants", (parent, keys) => {
  const wanted = packages[`node_modules/${parent}`]?.dependencies ?? {};
  const preliminary = Object.entries(wanted).filter(([, version]) => /^\d+\.\d+\.\d+-/.test(version));
  for (const key of Object.keys(keys)) {
    const found = preliminary.find(([name]) => key === name || key.startsWith(`${name}@`));
    if (found !== undefined) expect(key).toBe(found.join("@"));
  }
});
