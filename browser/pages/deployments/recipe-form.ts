/** A recipe as a form has it: its own fields and those of its body beside one another. Blank fields are not part of it. */
import * as z from "zod";
import { RECIPE_FIELDS } from "../../../shared/fields/recipe-fields.ts";
import { recipeBodySchema } from "../../../shared/schema/managed-model.ts";
import { createRecipeSchema } from "../../../shared/schema/recipe.ts";
import type { Records } from "../../data/api.ts";
import { textOf } from "../../data/untyped.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { type FieldSpec, fieldSpecs } from "../../forms/record/field-specs.ts";
import { SPEC_FIELDS } from "./spec-fields.ts";

const OWN = ["name", "description", "author"];
const OWN_FIELDS = fieldSpecs(OWN, RECIPE_FIELDS);

/** What a recipe fills in. Whether a spec is switched on is nothing to fill in. */
const BODY_FIELDS = SPEC_FIELDS.filter(({ name }) => name !== "enabled").map(
  (spec): FieldSpec => (spec.kind === "number" ? { ...spec, isNullable: true } : spec),
);

/** The controls of a recipe. */
export const RECIPE_CONTROLS: readonly FieldSpec[] = [...OWN_FIELDS, ...BODY_FIELDS];

/** The values of a recipe's form. */
export function recipeValues({ name, description, author, body }: Records["Recipe"]): FieldValues {
  return { ...body, name, description, author };
}

/** The body of a write, from the values of a form; `before` has what the form does not show. */
export function recipeBody(values: FieldValues, before: FieldValues): Records["CreateRecipe"] {
  const shown = new Set(BODY_FIELDS.map(({ name }) => name));
  const kept = Object.entries(before).filter(([name]) => !shown.has(name));
  const filled = Object.entries(values).filter(([name, value]) => shown.has(name) && value !== "" && value !== null);
  const [name = "", description = "", author = ""] = OWN.map((field) => textOf(values[field]) ?? "");
  return {
    name,
    description,
    author,
    body: Object.fromEntries([...kept, ...filled]),
  };
}

/** Validates the values of a form as the server validates the recipe; they stay as they are typed. */
export const recipeFormSchema: z.ZodType<FieldValues> = z
  .record(z.string(), z.unknown())
  .superRefine((values, context) => {
    const { body, ...own } = recipeBody(values, {});
    const parsed = [createRecipeSchema.omit({ body: true }).safeParse(own), recipeBodySchema.safeParse(body)];
    for (const { error } of parsed)
      for (const { path, message } of error?.issues ?? [])
        context.addIssue({ code: "custom", path: [...path], message });
  });
