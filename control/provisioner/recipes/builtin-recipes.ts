/**
 * The recipes that come with the gateway, or that the operator keeps in a folder (GATEWAY_RECIPES_DIR): one JSON file each,
 * of the shape that POST /recipes takes. They are read once, at the start; a file that is no recipe is left out with a line
 * in the log, because a missing template is no reason not to start (docs/rules/managed-models.md#recipes).
 */
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { createRecipeSchema, type Recipe } from "../../../shared/schema/recipe.ts";
import { rootCause } from "../../../shared/text/root-cause.ts";
import { PRICE_LIST_FILE, readDataFile } from "../../kernel/data-file.ts";
import type { Logger } from "../../kernel/log.ts";
import { systemProblem } from "../../kernel/system-problem.ts";

/** The recipes of a folder; none when it cannot be read. */
export function readBuiltinRecipes(folder: string, log: Logger): readonly Recipe[] {
  const found = new Map<string, Recipe>();
  for (const file of filesOf(folder, log)) {
    const recipe = readRecipe(folder, file);
    if (typeof recipe === "string") log.warn({ event: "recipe_unreadable", file, reason: recipe });
    else if (found.has(recipe.name))
      log.warn({ event: "recipe_unreadable", file, reason: "another file has its name" });
    else found.set(recipe.name, recipe);
  }
  return [...found.values()];
}

function filesOf(folder: string, log: Logger): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".json") && name !== PRICE_LIST_FILE)
      .sort();
  } catch (error) {
    const problem = systemProblem(error) ?? rootCause(error);
    log.warn({ event: "recipe_unreadable", file: "", reason: `GATEWAY_RECIPES_DIR: the folder ${folder}: ${problem}` });
    return [];
  }
}

/** The recipe of a file, or why there is none. */
function readRecipe(folder: string, file: string): Recipe | string {
  const read = readDataFile(folder, file, createRecipeSchema);
  if (typeof read === "string") return read;
  return { ...read.data, id: idOf(file), builtin: true, created_at: null, updated_at: null, rev: null };
}

/** The same file has the same id on every replica and after every start. */
function idOf(file: string): string {
  const hex = createHash("sha256").update(`gateway recipe ${file}`).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
