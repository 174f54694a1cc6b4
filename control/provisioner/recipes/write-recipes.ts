/** Creates, changes and removes recipes; the built-in ones cannot be changed (docs/rules/managed-models.md#recipes). */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import { createRecipeSchema, type Recipe, updateRecipeSchema } from "../../../shared/schema/recipe.ts";
import type { Transaction } from "../../db/connect.ts";
import { type RecipeRow, recipes } from "../../db/schema/managed-models.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { isUniqueViolation } from "../../kernel/database-errors.ts";
import { dropUndefined, parse, parseId } from "../../kernel/parse.ts";
import { write } from "../../kernel/write.ts";
import { recipeRecord } from "./recipe-record.ts";

/** The recipe. Throws 400, and 409 for a name that another recipe has, also a built-in one. */
export async function createRecipe(
  ctx: VerbContext,
  builtin: readonly Recipe[],
  input: unknown,
): Promise<Written<Recipe>> {
  const body = parse(createRecipeSchema, input);
  return await write(ctx, async (tx, journal) => {
    const now = ctx.now();
    const [row] = await underItsName(builtin, body.name, async () =>
      tx
        .insert(recipes)
        .values({ ...body, rev: journal.rev, created_at: now, updated_at: now })
        .returning(),
    );
    if (row === undefined) throw new GatewayError("internal_error");
    const { id, name } = row;
    journal.audit({ action: "create_recipe", entityType: "recipe", entityId: id, detail: { name } });
    return recipeRecord(row);
  });
}

/** The recipe; what is omitted keeps its value. Throws 400, 403, 404, 409. */
export async function updateRecipe(
  ctx: VerbContext,
  builtin: readonly Recipe[],
  id: string,
  input: unknown,
): Promise<Written<Recipe>> {
  const recipeId = ownId(builtin, id);
  const body = dropUndefined(parse(updateRecipeSchema, input));
  return await write(ctx, async (tx, journal) => {
    const before = await lockRecipe(tx, recipeId);
    ctx.checkRecord?.(recipeRecord(before));
    const change = async () =>
      tx
        .update(recipes)
        .set({ ...body, rev: journal.rev, updated_at: ctx.now() })
        .where(eq(recipes.id, recipeId))
        .returning();
    const renamed = body.name !== undefined && body.name !== before.name;
    const [row] = await underItsName(renamed ? builtin : [], body.name ?? before.name, change);
    if (row === undefined) throw new GatewayError("not_found");
    // a recipe has scripts, into which people write credentials: the log says only which fields were given
    const detail = { name: before.name, changed: Object.keys(body) };
    journal.audit({ action: "update_recipe", entityType: "recipe", entityId: recipeId, detail });
    return recipeRecord(row);
  });
}

/** Throws 403, 404. */
export async function deleteRecipe(ctx: VerbContext, builtin: readonly Recipe[], id: string): Promise<Written<null>> {
  const recipeId = ownId(builtin, id);
  return await write(ctx, async (tx, journal) => {
    const row = await lockRecipe(tx, recipeId);
    ctx.checkRecord?.(recipeRecord(row));
    const { name } = row;
    await tx.delete(recipes).where(eq(recipes.id, recipeId));
    journal.audit({ action: "delete_recipe", entityType: "recipe", entityId: recipeId, detail: { name } });
    return null;
  });
}

function ownId(builtin: readonly Recipe[], id: string): string {
  const recipeId = parseId(id);
  if (builtin.some((recipe) => recipe.id === recipeId)) throw new GatewayError("builtin_recipe");
  return recipeId;
}

async function lockRecipe(tx: Transaction, id: string): Promise<RecipeRow> {
  const [row] = await tx.select().from(recipes).where(eq(recipes.id, id)).for("update");
  if (row === undefined) throw new GatewayError("not_found");
  return row;
}

async function underItsName<T>(builtin: readonly Recipe[], name: string, save: () => Promise<T>): Promise<T> {
  const taken = new GatewayError("already_exists", { value: `recipe '${name}'`, param: "name" });
  if (builtin.some((recipe) => recipe.name === name)) throw taken;
  try {
    return await save();
  } catch (error) {
    if (isUniqueViolation(error)) throw taken;
    throw error;
  }
}
