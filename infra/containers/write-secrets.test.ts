/** @module-tag check */
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { waitFor } from "../../test/harness/wait-for.ts";
import { secretTexts } from "./secret-texts.ts";
import { writeSecrets } from "./write-secrets.ts";

let parent: string;
let folder: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "gateway-write-secrets-"));
  folder = join(parent, "secrets");
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

const read = (name: string): string => readFileSync(join(folder, name), "utf8");
const NAMES = Object.keys(secretTexts(randomBytes, () => undefined));
const made = (): readonly string[] => readdirSync(folder).filter((name) => !name.startsWith("."));

/** A process that makes them, again and again with `forever`. */
const program = (forever: boolean, umask: string): string => `
import { randomBytes } from "node:crypto";
import { writeSecrets } from ${JSON.stringify(join(import.meta.dirname, "write-secrets.ts"))};
process.umask(${umask});
do writeSecrets(process.argv[1], randomBytes); while (${forever});
`;
const args = (forever: boolean, umask: string): readonly string[] => [
  "--input-type=module-typescript",
  "-e",
  program(forever, umask),
  folder,
];

it.each(["0o000", "0o022", "0o077", "0o777"])("are readable in a folder of their owner's, under umask %s", (umask) => {
  expect(spawnSync(process.execPath, args(false, umask), { encoding: "utf8" })).toMatchObject({
    status: 0,
    stderr: "",
  });
  expect(readdirSync(folder).toSorted()).toEqual(NAMES.toSorted());
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const name of NAMES) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o444);
  expect(read("database-url")).toContain(`:${read("postgres-password").trim()}@`);
});

it("stay as they are, and what is missing fits them", () => {
  expect(writeSecrets(folder, randomBytes)).toEqual(NAMES);
  const before = NAMES.map(read);
  rmSync(join(folder, "redis-url"));
  writeFileSync(join(folder, "notes"), "mine");
  expect(writeSecrets(folder, randomBytes)).toEqual(["redis-url"]);
  expect(NAMES.map(read)).toEqual(before);
  expect(writeSecrets(folder, randomBytes)).toEqual([]);
});

it("are whole, whenever the process that makes them is killed", async () => {
  for (let kills = 1; kills <= 5; kills += 1) {
    rmSync(folder, { recursive: true, force: true });
    const child = spawn(process.execPath, args(true, "0o022"), { stdio: "ignore" });
    const exited = once(child, "exit");
    await waitFor(
      () => (statSync(folder, { throwIfNoEntry: false }) === undefined ? 0 : made().length),
      (count) => count >= kills,
    );
    child.kill("SIGKILL");
    await exited;
    for (const name of made()) expect(read(name)).toMatch(name.endsWith("-old") ? /^\n$/ : /^\S.*\n$/);
    const kept = new Map(made().map((name) => [name, read(name)]));
    writeSecrets(folder, randomBytes);
    expect(made().toSorted()).toEqual(NAMES.toSorted());
    for (const [name, text] of kept) expect(read(name)).toBe(text);
    expect(read("redis-url")).toContain(`:${read("valkey-password").trim()}@`);
  }
});
