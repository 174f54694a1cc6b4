import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { makePrivate } from "./private-folder.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "private-folder-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

it("makes a folder and all in it private to its owner, and changes nothing outside it", () => {
  const part = join(folder, "part");
  mkdirSync(join(part, "deep/er"), { recursive: true });
  writeFileSync(join(part, "deep/er/file"), "content");
  writeFileSync(join(part, "program"), "");
  writeFileSync(join(folder, "beside"), "");
  symlinkSync(join(folder, "beside"), join(part, "link"));
  symlinkSync("/nowhere/at/all", join(part, "broken"));
  for (const [name, rights] of [
    [".", 0o755],
    ["beside", 0o644],
    ["part", 0o777],
    ["part/deep", 0o775],
    ["part/deep/er", 0o500],
    ["part/deep/er/file", 0o666],
    ["part/program", 0o755],
  ] as const)
    chmodSync(join(folder, name), rights);
  makePrivate(part);
  expect(["part", "part/deep", "part/deep/er"].map((name) => mode(join(folder, name)))).toEqual(["700", "700", "700"]);
  expect(["part/deep/er/file", "part/program"].map((name) => mode(join(folder, name)))).toEqual(["600", "600"]);
  expect({ folder: mode(folder), beside: mode(join(folder, "beside")) }).toEqual({ folder: "755", beside: "644" });
  expect(readFileSync(join(part, "deep/er/file"), "utf8")).toBe("content");
});

it.runIf(process.getuid?.() === 0)("refuses what another user has put there, and says what to do", () => {
  const part = join(folder, "part");
  mkdirSync(join(part, "deep"), { recursive: true });
  writeFileSync(join(part, "deep/file"), "planted");
  symlinkSync("/nowhere", join(part, "link"));
  for (const [path, give] of [
    ["part/deep/file", chownSync],
    ["part/link", lchownSync],
    ["part", chownSync],
  ] as const) {
    give(join(folder, path), 65534, 65534);
    expect(() => makePrivate(part)).toThrow(
      `${join(folder, path)} belongs to another user (uid 65534): remove it, or, if you trust its content, run chown -hR 0 ${join(folder, path)}`,
    );
    give(join(folder, path), 0, 0);
  }
  makePrivate(part);
});

it("is made when it is missing, whatever the umask", () => {
  const script = `import { makePrivate } from ${JSON.stringify(new URL("private-folder.ts", import.meta.url).href)};
    process.umask(Number(process.argv[1]));
    makePrivate(process.argv[2]);`;
  for (const umask of [0, 0o022, 0o077, 0o277]) {
    const made = join(folder, String(umask), "part");
    mkdirSync(join(folder, String(umask)));
    execFileSync(process.execPath, ["--input-type=module", "-e", script, String(umask), made]);
    expect({ umask, mode: mode(made) }).toEqual({ umask, mode: "700" });
  }
});
