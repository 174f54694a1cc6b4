/** Reads arguments as people write them: numbers, periods of time, and names where the API expects ids. */
import { InvalidArgumentError } from "commander";
import type { Schemas } from "../api/client/client.ts";
import { CliError, type Session } from "./session.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A number. Throws InvalidArgumentError. */
export function toNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new InvalidArgumentError("Not a number.");
  return value;
}

/** A number, or null for `none`. Throws InvalidArgumentError. */
export function toNumberOrNone(text: string): number | null {
  return text === "none" ? null : toNumber(text);
}

/** A period of time such as `90m`, `24h` or `7d`, in milliseconds. Throws InvalidArgumentError. */
export function toPeriodMs(text: string): number {
  const match = /^(\d+)([mhd])$/.exec(text);
  const unit = UNIT_MS[match?.[2] ?? ""];
  if (match === null || unit === undefined) throw new InvalidArgumentError("Not a period: say 90m, 24h or 7d.");
  return Number(match[1]) * unit;
}

/** The words between commas. */
export function toList(text: string): string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

/** The tenant with this id or name. Throws CliError. */
export async function findTenant(session: Session, word: string): Promise<Schemas["Tenant"]> {
  if (UUID.test(word))
    return await session.bodyOf(session.client.GET("/api/v1/tenants/{id}", { params: { path: { id: word } } }));
  const all = await session.rowsOfAllPages((cursor) =>
    session.client.GET("/api/v1/tenants", { params: { query: page(cursor) } }),
  );
  return named(all, word, "tenant", (tenant) => tenant.name);
}

/** The model with this id or name. Throws CliError. */
export async function findModel(session: Session, word: string): Promise<Schemas["Model"]> {
  if (UUID.test(word))
    return await session.bodyOf(session.client.GET("/api/v1/models/{id}", { params: { path: { id: word } } }));
  const all = await session.rowsOfAllPages((cursor) =>
    session.client.GET("/api/v1/models", { params: { query: page(cursor) } }),
  );
  return named(all, word, "model", (model) => model.model_name);
}

/** The key with this id, prefix or name. Throws CliError, also when several keys match. */
export async function findKey(session: Session, word: string): Promise<Schemas["ApiKey"]> {
  if (UUID.test(word))
    return await session.bodyOf(session.client.GET("/api/v1/keys/{id}", { params: { path: { id: word } } }));
  const all = await session.rowsOfAllPages((cursor) =>
    session.client.GET("/api/v1/keys", { params: { query: { ...page(cursor), q: word } } }),
  );
  return named(all, word, "key", (key) => (key.key_prefix === word ? word : key.name));
}

/** The recipe with this id or name. Throws CliError. */
export async function findRecipe(session: Session, word: string): Promise<Schemas["Recipe"]> {
  const all = await session.rowsOfAllPages((cursor) =>
    session.client.GET("/api/v1/recipes", { params: { query: page(cursor) } }),
  );
  return named(all, word, "recipe", (recipe) => (recipe.id === word ? word : recipe.name));
}

/** Refuses a change without any field: the command was given no option. Throws CliError. */
export function refuseNoChange(body: object): void {
  if (Object.keys(body).length === 0) throw new CliError("nothing to change: give an option; --help lists them");
}

/** The query of one page of a list. */
export function page(cursor: string | undefined): { limit: string; cursor?: string } {
  return { limit: "1000", ...(cursor === undefined ? {} : { cursor }) };
}

function named<T extends { readonly id: string }>(
  rows: readonly T[],
  word: string,
  what: string,
  name: (row: T) => string,
): T {
  const matching = rows.filter((row) => name(row) === word);
  const [only] = matching;
  if (only === undefined) throw new CliError(`there is no ${what} '${word}'`);
  if (matching.length > 1)
    throw new CliError(
      `several ${what}s are called '${word}': use an id\n${matching.map((row) => `  ${row.id}`).join("\n")}`,
    );
  return only;
}
