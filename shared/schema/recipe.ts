/**
 * Recipes on the Management API: record and bodies (docs/rules/managed-models.md#recipes).
 */
import * as z from "zod";
import { recordShape } from "../fields/field-table.ts";
import { RECIPE_FIELDS } from "../fields/recipe-fields.ts";
import { descriptionField, freeText, nameField, revField } from "./common.ts";
import { recipeBodySchema } from "./managed-model.ts";

const shown = recordShape(RECIPE_FIELDS);

/** A recipe as shown. A built-in one comes from a file, so it has neither a creation time nor a revision. */
export const recipeSchema = z
  .object({
    ...shown,
    created_at: shown.created_at.nullable(),
    updated_at: shown.updated_at.nullable(),
    builtin: z
      .boolean()
      .meta({ description: "The recipe comes from a file in GATEWAY_RECIPES_DIR and cannot be changed" }),
    rev: revField.nullable(),
  })
  .meta({ id: "Recipe" });
export type Recipe = z.infer<typeof recipeSchema>;

const author = freeText(200);

/** POST /recipes, and the content of a recipe's file. */
export const createRecipeSchema = z
  .object({
    name: nameField,
    description: descriptionField.default(""),
    author: author.default(""),
    body: recipeBodySchema,
  })
  .meta({ id: "CreateRecipe" });

/** PUT /recipes/{id}: omitted fields keep their value. */
export const updateRecipeSchema = z
  .object({ name: nameField, description: descriptionField, author, body: recipeBodySchema })
  .partial()
  .meta({ id: "UpdateRecipe" });
