/** @module-tag check */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { lastDemoPort } from "./demo.ts";
import { readStackEnv, StackEnvError } from "./env.ts";
import { lockFolders } from "./own-folders.ts";
import { Undo } from "./process/running.ts";
import { storedSecret } from "./secrets.ts";

let folder: string;
let undo: Undo;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "own-folders-"));
  writeFileSync(join(folder, "file"), "not a folder");
  undo = new Undo();
  vi.stubEnv("NODE_COMPILE_CACHE", undefined);
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
    data: ["compiled", "lock", "objects"],
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
  ["everybody could write so that only the owner has rights", 0o777, 0o700],
  ["everybody could read so that only the owner has rights", 0o755, 0o700],
  ["a group could write so that only the owner has rights", 0o770, 0o700],
  ["nobody can replace another user's files as it is", 0o1777, 0o1777],
])("uses a data folder in which %s", async (_, before, after) => {
  const data = join(folder, "data");
  mkdirSync(data);
  chmodSync(data, before);
  await locked({ GATEWAY_DATA_DIR: "data" });
  expect((statSync(data).mode & 0o7777).toString(8)).toBe(after.toString(8));
});

it("refuses a data folder that all users can replace, and one in it when it is linked", async () => {
  mkdirSync(join(folder, "open/data"), { recursive: true });
  chmodSync(join(folder, "open"), 0o777);
  symlinkSync(join(folder, "open/data"), join(folder, "link"));
  const refused = new StackEnvError(
    `GATEWAY_DATA_DIR: all users can replace ${folder}/open/data: run chmod o-w ${folder}/open, or use a folder elsewhere`,
  );
  for (const data of ["open/data", "link"]) await expect(locked({ GATEWAY_DATA_DIR: data })).rejects.toThrow(refused);
  chmodSync(join(folder, "open"), 0o1777);
  await locked({ GATEWAY_DATA_DIR: "link" });
});

describe.runIf(process.getuid?.() === 0)("what another user owns", () => {
  const NOBODY = 65534;

  it.each(["link", "link/inner"])("is refused as the link to our data folder: %s", async (data) => {
    mkdirSync(join(folder, "data/inner"), { recursive: true });
    symlinkSync(join(folder, "data"), join(folder, "link"));
    lchownSync(join(folder, "link"), NOBODY, NOBODY);
    await expect(locked({ GATEWAY_DATA_DIR: data })).rejects.toThrow(
      `GATEWAY_DATA_DIR: ${folder}/link belongs to another user (uid 65534)`,
    );
    lchownSync(join(folder, "link"), 0, 0);
    await locked({ GATEWAY_DATA_DIR: data });
  });

  it.each(["admin-token", "console-password", "demo-key", "compiled", "worker", "postgres", "objects"])(
    "is refused in the data folder, with what to do: %s",
    async (name) => {
      const data = join(folder, "data");
      const planted = join(data, name);
      mkdirSync(planted, { recursive: true });
      chmodSync(data, 0o777);
      chownSync(planted, NOBODY, NOBODY);
      await expect(locked({ GATEWAY_DATA_DIR: "data" })).rejects.toThrow(
        new StackEnvError(
          `GATEWAY_DATA_DIR: ${planted} belongs to another user (uid 65534): remove it, or, if you trust its content, run chown -hR 0 ${planted}`,
        ),
      );
    },
  );

  it("is refused in a storage elsewhere and among the compiled modules", async () => {
    for (const path of ["elsewhere/objects/file", "data/compiled/module"]) {
      mkdirSync(join(folder, path), { recursive: true });
      chownSync(join(folder, path), NOBODY, NOBODY);
      const env = { GATEWAY_DATA_DIR: "data", GATEWAY_WAL_PATH: "elsewhere/objects" };
      await expect(locked(env)).rejects.toThrow(`${join(folder, path)} belongs to another user (uid 65534)`);
      await undo.run();
      undo = new Undo();
      chownSync(join(folder, path), 0, 0);
    }
  });

  it("is refused as the data folder, with what to do", async () => {
    const data = join(folder, "data");
    mkdirSync(data);
    chownSync(data, NOBODY, NOBODY);
    await expect(locked({ GATEWAY_DATA_DIR: "data" })).rejects.toThrow(
      new StackEnvError(
        `GATEWAY_DATA_DIR: the folder ${data} belongs to another user (uid 65534): start as that user, or, if you trust its content, run chown -R 0 ${data}`,
      ),
    );
  });

  it("may be in a folder like /tmp, but not in the place of ours", async () => {
    const data = join(folder, "data");
    mkdirSync(join(data, "other"), { recursive: true });
    chmodSync(data, 0o1777);
    chownSync(join(data, "other"), NOBODY, NOBODY);
    await locked({ GATEWAY_DATA_DIR: "data" });
    await undo.run();
    undo = new Undo();
    chownSync(join(data, "compiled"), NOBODY, NOBODY);
    await expect(locked({ GATEWAY_DATA_DIR: "data" })).rejects.toThrow("data/compiled belongs to another user");
  });

  it("is refused as a secret", () => {
    writeFileSync(join(folder, "admin-token"), "planted", { mode: 0o600 });
    chownSync(join(folder, "admin-token"), NOBODY, NOBODY);
    expect(() => storedSecret(folder, "admin-token")).toThrow("admin-token belongs to another user (uid 65534)");
  });

  it("is used in a volume of containers, whose folder is root's and whose group may write", () => {
    const data = join(folder, "volume");
    mkdirSync(data);
    chmodSync(data, 0o2777);
    chownSync(data, 0, NOBODY);
    chmodSync(folder, 0o755);
    const script = `
      const { lockFolders } = await import(${JSON.stringify(new URL("own-folders.ts", import.meta.url).href)});
      const { Undo } = await import(${JSON.stringify(new URL("process/running.ts", import.meta.url).href)});
      const { storedSecret } = await import(${JSON.stringify(new URL("secrets.ts", import.meta.url).href)});
      const { chmodSync } = await import("node:fs");
      process.setgid(${NOBODY});
      process.setuid(${NOBODY});
      const [dataDir, made] = [process.argv[1], []];
      for (let start = 0; start < 2; start += 1) {
        const undo = new Undo();
        await lockFolders({ dataDir, objectsDir: dataDir + "/objects", objectsVariable: "GATEWAY_DATA_DIR" }, undo);
        made.push(storedSecret(dataDir, "admin-token").made);
        await undo.run();
        for (const name of ["compiled", "objects"]) chmodSync(dataDir + "/" + name, 0o2770);
        chmodSync(dataDir + "/admin-token", 0o660);
      }
      console.log(made.join());`;
    expect(execFileSync(process.execPath, ["--input-type=module", "-e", script, data], { encoding: "utf8" })).toBe(
      "true,false\n",
    );
  });
});

it.each([0o602, 0o666, 0o620])("refuses a secret that other users can write: mode %o", (mode) => {
  const path = join(folder, "admin-token");
  writeFileSync(path, "changed");
  chmodSync(path, mode);
  if (mode === 0o620 && process.getuid?.() === 0) chownSync(path, 0, 65534);
  else chmodSync(path, mode | 0o002);
  expect(() => storedSecret(folder, "admin-token")).toThrow(
    new StackEnvError(`other users can write ${path}: remove it, or, if you trust its content, run chmod 600 ${path}`),
  );
});

it.each([0o644, 0o604, 0o640])("refuses a secret that other users can read: mode %o", (mode) => {
  const path = join(folder, "demo-key");
  writeFileSync(path, "read");
  chmodSync(path, mode);
  if (process.getuid?.() === 0) chownSync(path, 0, 65534);
  else chmodSync(path, mode | 0o004);
  const refused = new StackEnvError(
    `other users can read ${path}, and may know the secret: remove it for a new one, or, if nobody has read it, run chmod 600 ${path}`,
  );
  expect(() => lastDemoPort(folder)).toThrow(refused);
  chmodSync(path, 0o600);
  expect(lastDemoPort(folder)).toBe(0);
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

it("names the variable and the holder of a folder in use", async () => {
  await locked({ GATEWAY_DATA_DIR: "data" });
  await expect(locked({ GATEWAY_DATA_DIR: "data" })).rejects.toThrow(
    /^GATEWAY_DATA_DIR: the folder .* is in use by process \d+;/,
  );
});
