/** A recipe's row as the Management API shows it. */
import { type Recipe, recipeSchema } from "../../../shared/schema/recipe.ts";
import type { RecipeRow } from "../../db/schema/managed-models.ts";
import { withIsoTimes } from "../../kernel/iso-times.ts";

/** The record of a stored recipe. */
export function recipeRecord(row: RecipeRow): Recipe {
  return recipeSchema.parse({ ...withIsoTimes(row), builtin: false });
}
