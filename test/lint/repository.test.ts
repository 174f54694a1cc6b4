/** The repository keeps the structure rules: one meaning a name, imports one way, no export without a user. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { upwardArrows } from "./arrows.ts";
import { deadExports } from "./dead-exports.ts";
import { equalNames } from "./equal-names.ts";
import { readExceptions } from "./exceptions.ts";
import { readModules } from "./modules.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("the repository", () => {
  const modules = readModules(ROOT);

  it("has no two exports of one name in a room", () => {
    expect(equalNames(modules, readExceptions(ROOT, "equal-names"))).toEqual([]);
  });

  it("has no upward arrow between the entries of a folder", () => {
    expect(upwardArrows(modules)).toEqual([]);
  });

  it("has no export without a user", () => {
    expect(deadExports(modules, readExceptions(ROOT, "dead-exports"))).toEqual([]);
  });
});
