import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { EnvError } from "../kernel/env-field.ts";
import { openDatabase } from "./open-database.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "open-database-"));
  writeFileSync(join(folder, "file"), "not a folder");
});
afterAll(() => rmSync(folder, { recursive: true }));

it.each([
  ["file", "a file is in the place of a folder (EEXIST)"],
  ["file/database", "a file is in the place of a folder (EEXIST)"],
  ["file/deep/database", "a part of the path is not a folder (ENOTDIR)"],
])("names the variable, the path and the reason of a folder at %s", async (path, problem) => {
  await expect(openDatabase(`pglite:${folder}/${path}`)).rejects.toThrow(
    new EnvError(`GATEWAY_DATABASE_URL: the folder ${folder}/${path} cannot be used: ${problem}`),
  );
});
