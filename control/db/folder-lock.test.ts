import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DatabaseLocked, lockDatabase } from "./folder-lock.ts";
import { processStart } from "./process-start.mjs";

let folder: string;

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "gateway-lock-")), "database");
});
afterEach(() => {
  rmSync(join(folder, ".."), { recursive: true, force: true });
});

describe("the lock of an embedded database", () => {
  it("is held by one, says by whom, and is free again", () => {
    const unlock = lockDatabase(folder);
    expect(() => lockDatabase(folder)).toThrow(DatabaseLocked);
    expect(() => lockDatabase(folder)).toThrow(String(process.pid));
    unlock();
    expect(existsSync(`${folder}.lock`)).toBe(false);
    lockDatabase(folder)();
  });

  it("is taken over from a process that is gone, also when its id lives on in another", () => {
    for (const stale of ["999999999 1", `${process.ppid} 1`, "", "nonsense"]) {
      writeFileSync(`${folder}.lock`, stale);
      const unlock = lockDatabase(folder);
      expect(readFileSync(`${folder}.lock`, "utf8")).toBe(`${process.pid} ${processStart(process.pid)}`);
      unlock();
    }
  });
});
