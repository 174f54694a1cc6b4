/** A recipe survives its form: what is not touched stays, what is blank is not part of it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Records } from "../../data/api.ts";
import { bodyOf, draftOf } from "../../forms/record/drafts.ts";
import { RECIPE_CONTROLS, recipeBody, recipeFormSchema, recipeValues } from "./recipe-form.ts";

const FOLDER = join(import.meta.dirname, "../../../recipes");
const STORED = { id: "r", builtin: false, created_at: null, updated_at: null };
const recipe = (fields: Records["CreateRecipe"]): Records["Recipe"] => ({
  ...STORED,
  description: "",
  author: "",
  ...fields,
});
/** What a form says when nothing was typed. */
const untouched = (values: ReturnType<typeof recipeValues>) =>
  bodyOf(RECIPE_CONTROLS, values, draftOf(RECIPE_CONTROLS, values, "UTC"), "UTC");

it.each(readdirSync(FOLDER).filter((file) => file !== "prices.json"))("%s is what it was", (file) => {
  const content = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as Records["CreateRecipe"];
  const values = untouched(recipeValues(recipe(content)));
  expect(recipeFormSchema.safeParse(values).success).toBe(true);
  expect(recipeBody(values, content.body)).toEqual(content);
});

it("keeps what its form does not show, and leaves out what is blank", () => {
  const body = { enabled: false, launcher_spec: { a: 1 }, mem: 5, gres: "gpu:1" };
  const values = { ...untouched(recipeValues(recipe({ name: "r", body }))), mem: null, gres: "" };
  expect(recipeFormSchema.safeParse(values).success).toBe(true);
  expect(recipeBody(values, body).body).toEqual({ enabled: false, launcher_spec: { a: 1 } });
});

it("is validated field by field as the server validates it", () => {
  const { error } = recipeFormSchema.safeParse({ name: " ", serving_port: 0, health_path: "//x", partition: "" });
  expect(error?.issues.map(({ path }) => path.join("."))).toEqual(["name", "serving_port", "health_path"]);
});
