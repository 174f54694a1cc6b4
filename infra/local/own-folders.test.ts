import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readStackEnv, StackEnvError } from "./env.ts";
import { lockFolders } from "./own-folders.ts";
import { Undo } from "./process/running.ts";

let folder: string;
let undo: Undo;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "own-folders-"));
  writeFileSync(join(folder, "file"), "not a folder");
  undo = new Undo();
});
afterEach(async () => {
  await undo.run();
  rmSync(folder, { recursive: true });
});

const locked = async (env: Readonly<Record<string, string>>) => await lockFolders(readStackEnv(env, folder), undo);

it("has one lock for the data folder and the storage inside it, and two for two folders", async () => {
  const [data, objects] = await locked({ GATEWAY_DATA_DIR: "data" });
  expect({ same: objects === data, data: readdirSync(join(folder, "data")).toSorted() }).toEqual({
    same: true,
    data: ["lock", "objects"],
  });
  await undo.run();
  undo = new Undo();
  await locked({ GATEWAY_DATA_DIR: "data", GATEWAY_WAL_PATH: "elsewhere/objects" });
  expect(readdirSync(join(folder, "elsewhere/objects"))).toEqual(["lock"]);
});

it.each<[string, Record<string, string>, string]>([
  ["a storage that is a file", { GATEWAY_WAL_PATH: "file" }, "GATEWAY_WAL_PATH: the folder <folder>/file"],
  [
    "a storage that is a file of the data folder",
    { GATEWAY_DATA_DIR: ".", GATEWAY_WAL_PATH: "file" },
    "GATEWAY_WAL_PATH: the folder <folder>/file",
  ],
  ["a data folder that is a file", { GATEWAY_DATA_DIR: "file" }, "GATEWAY_DATA_DIR: the folder <folder>/file"],
])("names the variable, the path and the reason of %s", async (_, env, said) => {
  await expect(locked({ GATEWAY_DATA_DIR: "data", ...env })).rejects.toThrow(
    new StackEnvError(
      `${said.replace("<folder>", folder)} cannot be used: a file is in the place of a folder (EEXIST)`,
    ),
  );
});

it("names the data folder of a storage that no variable sets", async () => {
  mkdirSync(join(folder, "data"));
  writeFileSync(join(folder, "data/objects"), "not a folder");
  await expect(locked({ GATEWAY_DATA_DIR: "data" })).rejects.toThrow(
    `GATEWAY_DATA_DIR: the folder ${folder}/data/objects cannot be used: a file is in the place of a folder (EEXIST)`,
  );
});

it.each([
  ["everybody could write so that only the owner can", 0o777, 0o755],
  ["a group could write so that only the owner can", 0o770, 0o750],
  ["nobody can replace another user's files as it is", 0o1777, 0o1777],
])("uses a data folder in which %s", async (_, before, after) => {
  const data = join(folder, "data");
  mkdirSync(data);
  chmodSync(data, before);
  await locked({ GATEWAY_DATA_DIR: "data" });
  expect((statSync(data).mode & 0o7777).toString(8)).toBe(after.toString(8));
});

it("does not try for ever where a folder takes no other", async () => {
  await expect(locked({ GATEWAY_DATA_DIR: "/proc/nothing/data" })).rejects.toThrow(
    "GATEWAY_DATA_DIR: the folder /proc/nothing/data cannot be used: ",
  );
});

it("says that a part of the path is no folder", async () => {
  await expect(locked({ GATEWAY_DATA_DIR: "file/data" })).rejects.toThrow(
    `GATEWAY_DATA_DIR: the folder ${folder}/file/data cannot be used: a part of the path is not a folder (ENOTDIR)`,
  );
});

it("leaves a folder in use to its own message", async () => {
  await locked({ GATEWAY_DATA_DIR: "data" });
  await expect(locked({ GATEWAY_DATA_DIR: "data" })).rejects.toThrow(/^the data folder .* is in use by process/);
});
