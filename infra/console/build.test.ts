/** The console in a folder that is a copy of the project, or that cannot be written, as in an image. */
import { chmodSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isBuilt, stampConsole } from "./build.ts";
import { type ConsoleBundle, writeConsole } from "./bundle.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-console-"));
});
afterEach(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true });
});

it("is as it was built in a copy without a lock file, until a source changes", () => {
  const built = join(folder, "dist/console");
  for (const each of [built, join(folder, "browser")]) mkdirSync(each, { recursive: true });
  writeFileSync(join(folder, "browser/main.tsx"), "a");
  writeFileSync(join(folder, "sbom.cdx.json"), "{}");
  writeFileSync(join(folder, "linked"), JSON.stringify({ files: ["linked.js"], sources: "of the project" }));
  writeFileSync(join(built, "linked.js"), "");
  linkSync(join(folder, "linked"), join(built, "manifest.json"));
  const before = isBuilt(folder);
  stampConsole(folder);
  const after = isBuilt(folder);
  writeFileSync(join(folder, "browser/main.tsx"), "b");
  expect({ before, after, changed: isBuilt(folder) }).toEqual({ before: false, after: true, changed: false });
  expect(readFileSync(join(folder, "linked"), "utf8")).toContain("of the project");
});

it("is fine in a folder that cannot be written and has the same files, and not with others", () => {
  const file = { name: "a.js", contents: new Uint8Array(1), gzipBytes: 1, imports: [], entry: undefined };
  const bundle = (name: string): ConsoleBundle => ({
    files: [{ ...file, name }],
    manifest: { build: name, script: name, style: name, preload: [], files: [name] },
  });
  writeConsole(bundle("a.js"), folder, "before");
  chmodSync(folder, 0o555);
  withoutRights(() => {
    expect(() => writeConsole(bundle("a.js"), folder, "after")).not.toThrow();
    expect(() => writeConsole(bundle("b.js"), folder, "after")).toThrow("EACCES");
  });
});

/** Runs work as a user whom permissions bind. */
function withoutRights(work: () => void): void {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65534);
  try {
    work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}
