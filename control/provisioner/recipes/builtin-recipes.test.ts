import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { putManagedModelSchema } from "../../../shared/schema/managed-model.ts";
import { readBuiltinRecipes } from "./builtin-recipes.ts";

const SHIPPED = join(import.meta.dirname, "../../../recipes");

let folder: string;
let lines: { event: string; file: string; reason: string }[] = [];
const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-recipes-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const shipped = readBuiltinRecipes(SHIPPED, log);

describe("the recipes that come with the gateway", () => {
  it("can all be read, and are one for bare metal and one for a container of each server", () => {
    expect(lines).toEqual([]);
    expect(shipped).toHaveLength(
      readdirSync(SHIPPED).filter((name) => name.endsWith(".json") && name !== "prices.json").length,
    );
    const servers = ["vLLM", "SGLang", "llama.cpp", "Text Embeddings Inference"];
    expect(shipped.map(({ name }) => name).toSorted()).toEqual(
      servers.flatMap((name) => [name, `${name} (apptainer)`]).toSorted(),
    );
  });

  it.each(shipped.map((recipe) => [recipe.name, recipe] as const))(
    "%s is a spec but for its partition",
    (_, { body }) => {
      const spec = putManagedModelSchema.parse({ ...body, partition: "gpu" });
      expect(spec).toMatchObject(body);
      expect(spec.launch_command).toContain('"$GATEWAY_SERVING_PORT"');
      expect(spec.launch_command).toContain("0.0.0.0");
      // what the command takes from the preamble is exported there, so that it reaches a container too
      const taken = [...spec.launch_command.matchAll(/\$\{?([A-Z_]+)/g)].map(([, name = ""]) => name);
      const others = new Set(["GATEWAY_SERVING_PORT", "SLURM_GPUS_ON_NODE"]);
      for (const name of taken.filter((each) => !others.has(each))) expect(spec.preamble).toContain(`export ${name}=`);
      const script = `${spec.preamble}\n${spec.launch_command}\n`;
      expect(spawnSync("bash", ["-n"], { input: script, encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
    },
  );

  it("keep their ids", () => {
    expect(readBuiltinRecipes(SHIPPED, log)).toEqual(shipped);
    expect(new Set(shipped.map(({ id }) => id)).size).toBe(shipped.length);
    for (const { id } of shipped) expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });
});

describe("a folder of recipes", () => {
  it("gives what can be read, and says of the rest why not", () => {
    const good = { name: "good", body: { serving_port: 1 }, more: true };
    const files: Readonly<Record<string, string>> = {
      "a.json": JSON.stringify(good),
      "again.json": JSON.stringify(good),
      "broken.json": "{",
      "huge.json": JSON.stringify({ ...good, name: "huge", more: "x".repeat(1024 * 1024) }),
      "list.json": "[]",
      "odd.json": JSON.stringify({ name: "odd", body: { serving_port: "8000" } }),
      "readme.txt": "not a recipe",
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    mkdirSync(join(folder, "folder.json"));
    lines = [];
    expect(readBuiltinRecipes(folder, log)).toMatchObject([{ name: "good", builtin: true, body: { serving_port: 1 } }]);
    expect(lines.map(({ event, file, reason }) => [event, file, reason])).toEqual([
      ["recipe_unreadable", "again.json", "another file has its name"],
      ["recipe_unreadable", "broken.json", "not a readable JSON file"],
      ["recipe_unreadable", "folder.json", "not a readable JSON file"],
      ["recipe_unreadable", "huge.json", "larger than 1048576 bytes"],
      ["recipe_unreadable", "list.json", expect.stringMatching(/^file: /)],
      ["recipe_unreadable", "odd.json", "body.serving_port: must be a whole number from 1 to 65535"],
    ]);
  });

  it("may be missing, which is said", () => {
    lines = [];
    expect(readBuiltinRecipes(join(folder, "none"), log)).toEqual([]);
    expect(readBuiltinRecipes(join(folder, "a.json"), log)).toEqual([]);
    expect(lines.map(({ reason }) => reason)).toEqual([
      `GATEWAY_RECIPES_DIR: the folder ${join(folder, "none")}: it does not exist (ENOENT)`,
      `GATEWAY_RECIPES_DIR: the folder ${join(folder, "a.json")}: a part of the path is not a folder (ENOTDIR)`,
    ]);
  });
});
