/**
 * `gateway recipes`: templates for the specs of managed models
 */
import type { Command } from "commander";
import type { Schemas } from "../api/client/client.ts";
import { findRecipe, page } from "./arguments.ts";
import { readObject } from "./managed.ts";
import { sessionOf } from "./session.ts";

export function recipeCommands(program: Command): void {
  const recipes = program.command("recipes").description("templates for managed models");
  recipes
    .command("list")
    .description("list recipes, including built-in ones")
    .action(async (_options: object, command: Command) => {
      const session = sessionOf(command);
      const rows = await session.rowsOfAllPages((cursor) =>
        session.client.GET("/api/v1/recipes", { params: { query: page(cursor) } }),
      );
      session.list(rows, ["name", "description", "author", "builtin", "id"]);
    });
  recipes
    .command("show <recipe>")
    .description("show a recipe, by name or id")
    .action(async (recipe: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      session.record(await findRecipe(session, recipe));
    });
  recipes
    .command("create <name> <file>")
    .description("store a recipe: the fields of a spec in a JSON file (- is standard input)")
    .option("--description <text>", "what it is for")
    .option("--author <text>", "its author")
    .action(
      async (
        name: string,
        file: string,
        options: { readonly description?: string; readonly author?: string },
        command: Command,
      ) => {
        const session = sessionOf(command);
        const body = { name, ...options, body: readObject(file) as Schemas["RecipeFields"] };
        session.record(await session.bodyOf(session.client.POST("/api/v1/recipes", { body })));
      },
    );
  recipes
    .command("delete <recipe>")
    .description("remove a recipe, by name or id")
    .action(async (recipe: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      const { id, name } = await findRecipe(session, recipe);
      await session.bodyOf(session.client.DELETE("/api/v1/recipes/{id}", { params: { path: { id } } }));
      session.say(`recipe '${name}' is removed`);
    });
}
