/**
 * The scheduler of a cell, now and over the last hour (docs/rules/fairshare.md#live-view,
 * docs/rules/fairshare.md#history).
 */
import { epochMsQuery } from "../../../shared/schema/common.ts";
import type { FairshareLive, FairshareSample } from "../../../shared/schema/load.ts";
import { type CellDirectory, callCell, cellOf, cellQuerySchema } from "../../cells/cell-directory.ts";
import { parse } from "../../kernel/parse.ts";

export const historyQuerySchema = cellQuerySchema.extend({
  since_ms: epochMsQuery.optional(),
});

/** Throws 404, 502. */
export async function getFairshareLive(directory: CellDirectory, query: unknown): Promise<FairshareLive> {
  const address = cellOf(directory, query);
  return await callCell(address, async () => await directory.cells.live(address));
}

/** Samples from `since_ms` on, ascending. Throws 400, 404, 502. */
export async function getFairshareHistory(
  directory: CellDirectory,
  query: unknown,
): Promise<readonly FairshareSample[]> {
  const { since_ms } = parse(historyQuerySchema, query);
  const address = cellOf(directory, query);
  return await callCell(address, async () => await directory.cells.history(address, since_ms ?? 0));
}
