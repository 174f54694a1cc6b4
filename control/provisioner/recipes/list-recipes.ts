/**
 * Lists recipes by name: those that admins have made, and the built-in ones (docs/rules/managed-models.md#recipes). Both
 * are ordered by the bytes of their names, which is the one order that the database and this process agree on.
 */
import { sql } from "drizzle-orm";
import type { Recipe } from "../../../shared/schema/recipe.ts";
import { recipes } from "../../db/schema/managed-models.ts";
import type { Page, VerbContext } from "../../kernel/context.ts";
import { badCursor, parsePage, readPage } from "../../kernel/paging.ts";
import { UUID } from "../../kernel/parse.ts";
import { recipeRecord } from "./recipe-record.ts";

/** Where a recipe stands in the list: by name, then by id. */
type Place = readonly [name: string, id: string];

/** One page. Throws 400. */
export async function listRecipes(
  { db }: VerbContext,
  builtin: readonly Recipe[],
  query: unknown,
): Promise<Page<Recipe>> {
  const page = parsePage(query);
  const name = sql`${recipes.name} COLLATE "C"`;
  return await readPage(
    page,
    async (part) => {
      const after = part.after === null ? null : placeIn(part.after);
      const rows = await db
        .select()
        .from(recipes)
        .where(after === null ? undefined : sql`(${name}, ${recipes.id}) > (${after[0]}, ${after[1]}::uuid)`)
        .orderBy(name, recipes.id)
        .limit(part.limit);
      const others = builtin.filter((recipe) => after === null || compare(placeOf(recipe), after) > 0);
      const merged = [...rows.map(recipeRecord), ...others].sort((a, b) => compare(placeOf(a), placeOf(b)));
      return merged.slice(0, part.limit);
    },
    placeOf,
    (recipe) => recipe,
  );
}

const placeOf = ({ name, id }: Recipe): Place => [name, id];

function placeIn([name, id]: readonly string[]): Place {
  if (name === undefined || id === undefined || !UUID.test(id)) throw badCursor();
  return [name, id];
}

function compare([name, id]: Place, [otherName, otherId]: Place): number {
  return Buffer.compare(Buffer.from(name), Buffer.from(otherName)) || (id < otherId ? -1 : Number(id > otherId));
}
