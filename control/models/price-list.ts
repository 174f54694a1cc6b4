/**
 * The price list: `prices.json` in the folder of recipes, read once, at the start. It is offered when somebody registers a
 * model and is never applied automatically (docs/rules/models.md#price-list).
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ListedPrice, priceFilterSchema, priceListFileSchema } from "../../shared/schema/price-list.ts";
import { PRICE_LIST_FILE, readDataFile } from "../kernel/data-file.ts";
import type { Logger } from "../kernel/log.ts";
import { parse } from "../kernel/parse.ts";

/** The list of a folder; empty without the file, or if it cannot be used. */
export function readPriceList(folder: string, log: Logger): readonly ListedPrice[] {
  if (!existsSync(join(folder, PRICE_LIST_FILE))) return [];
  const read = readDataFile(folder, PRICE_LIST_FILE, priceListFileSchema);
  if (typeof read !== "string") return read.data.list;
  log.warn({ event: "recipe_unreadable", file: PRICE_LIST_FILE, reason: read });
  return [];
}

/** The prices of the model that a provider knows by this name, or all. Throws 400. */
export function listPrices(prices: readonly ListedPrice[], input: unknown): { list: ListedPrice[] } {
  const { model } = parse(priceFilterSchema, input);
  return { list: prices.filter(({ models }) => model === undefined || models.includes(model)) };
}
