/**
 * Routes of recipes.
 */
import { z } from "zod";
import { createRecipeSchema, recipeSchema, updateRecipeSchema } from "../../../shared/schema/recipe.ts";
import { endpoint } from "../../api/endpoint.ts";
import type { Api, ApiDeps } from "../../api/types.ts";
import { listRecipes } from "./list-recipes.ts";
import { createRecipe, deleteRecipe, updateRecipe } from "./write-recipes.ts";

const tag = "Provisioning";
const all = "/api/v1/recipes";
const one = `${all}/{id}`;

export function recipeRoutes(app: Api, { recipes }: Pick<ApiDeps, "recipes">): void {
  endpoint(app, {
    kind: "page",
    method: "get",
    path: all,
    summary: "List recipes by name, including built-in ones",
    tag,
    answer: z.array(recipeSchema),
    handler: async ({ ctx, query }) => await listRecipes(ctx, recipes, query),
  });
  endpoint(app, {
    kind: "create",
    method: "post",
    path: all,
    summary: "Create a recipe: fields of a spec to start from",
    tag,
    body: createRecipeSchema,
    answer: recipeSchema,
    handler: async ({ ctx, body }) => await createRecipe(ctx, recipes, body),
  });
  endpoint(app, {
    kind: "write",
    method: "put",
    path: one,
    summary: "Change a recipe; omitted fields keep their values",
    tag,
    body: updateRecipeSchema,
    forbids: "The recipe is a built-in one.",
    answer: recipeSchema,
    handler: async ({ ctx, path, body }) => await updateRecipe(ctx, recipes, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: one,
    summary: "Remove a recipe",
    tag,
    forbids: "The recipe is a built-in one.",
    handler: async ({ ctx, path }) => await deleteRecipe(ctx, recipes, path.id),
  });
}
