/** Backups in a folder survive the death of the process that writes them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { folderPlace } from "./folder-place.ts";

const signal = new AbortController().signal;
const NAME = "gateway-backup-20260101T000000Z.json";
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-folder-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("has what was stored, until it is removed", async () => {
  const place = folderPlace(join(folder, "new/deep"));
  expect(await place.names(signal)).toEqual([]);
  await place.store(NAME, Buffer.from("content"), signal);
  expect({ names: await place.names(signal), read: String(await place.read(NAME, signal)) }).toEqual({
    names: [NAME],
    read: "content",
  });
  await place.remove(NAME, signal);
  await place.remove(NAME, signal);
  await expect(place.read(NAME, signal)).rejects.toThrow("it does not exist (ENOENT)");
});

it.each([
  ["the time is over", new DOMException("", "TimeoutError"), "the folder is too slow"],
  ["the gateway stops", undefined, "the gateway is stopping"],
])("says why it has stored nothing when %s", async (_, reason, said) => {
  const place = folderPlace(folder);
  await expect(place.store(NAME, Buffer.from("content"), AbortSignal.abort(reason))).rejects.toThrow(said);
  expect(readdirSync(folder)).toEqual([]);
});

it("removes drafts of processes that are gone, and no other", async () => {
  const [old, young] = [`.${NAME}.1.draft`, `.${NAME}.2.draft`];
  for (const name of [old, young]) writeFileSync(join(folder, name), "half");
  utimesSync(join(folder, old), 0, 0);
  await folderPlace(folder).store(NAME, Buffer.from("content"), signal);
  expect(readdirSync(folder).toSorted()).toEqual([young, NAME].toSorted());
});

it("stores beside others whose drafts become backups meanwhile", async () => {
  const place = folderPlace(folder);
  symlinkSync("nowhere", join(folder, `.${NAME}.3.draft`)); // listed, and not there any more
  await place.store(NAME, Buffer.from("content"), signal);
  const names = Array.from({ length: 40 }, (_, at) => NAME.replace("2026", String(2027 + at)));
  await Promise.all(names.map(async (name) => await place.store(name, Buffer.from("content"), signal)));
  expect((await place.names(signal)).toSorted()).toEqual([NAME, ...names].toSorted());
});

const WRITER = `
import { createHash } from "node:crypto";
import { folderPlace } from ${JSON.stringify(join(import.meta.dirname, "folder-place.ts"))};
const place = folderPlace(process.argv[1]);
for (let at = 0; ; at += 1) {
  const body = String(at).repeat(400_000);
  const text = createHash("sha256").update(body).digest("hex") + body;
  const stamp = String(at).padStart(6, "0");
  await place.store("gateway-backup-20260101T" + stamp + "Z.json", Buffer.from(text), new AbortController().signal);
}
`;

it("has whole backups only, whenever the process that stores them is killed", { tags: ["long"] }, async () => {
  const { createHash } = await import("node:crypto");
  const place = folderPlace(folder);
  for (let kills = 0; kills < 8; kills += 1) {
    const before = readdirSync(folder).length;
    const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", WRITER, folder], {
      stdio: "ignore",
    });
    await waitFor(
      () => readdirSync(folder).length,
      (count) => count > Math.max(before, kills),
    );
    child.kill("SIGKILL");
    await once(child, "exit");
    const names = await place.names(signal);
    for (const name of names) {
      const text = readFileSync(join(folder, name), "utf8");
      expect(createHash("sha256").update(text.slice(64)).digest("hex")).toBe(text.slice(0, 64));
    }
  }
});
