/**
 * The scheduler of a cell, now and over the last hour (docs/rules/fairshare.md#live-view,
 * docs/rules/fairshare.md#history).
 */
import { mergedWaiting } from "../../shared/fairshare/merged-waiting.ts";
import { epochMsQuery } from "../../shared/schema/common.ts";
import type { FairshareLive, FairshareSample } from "../../shared/schema/load.ts";
import { type CellDirectory, callCell, cellOf, cellQuerySchema } from "../kernel/cells/cell-directory.ts";
import { BRIEF_DEADLINE_MS } from "../kernel/cells/cells.ts";
import { parse } from "../kernel/parse.ts";

export const historyQuerySchema = cellQuerySchema.extend({
  since_ms: epochMsQuery.optional(),
});

/**
 * The scheduler of a cell. When no cell is named, `waiting` has the queues of every cell that answers, and `waiting_cells`
 * says which. Throws 404, 502.
 */
export async function getFairshareLive(directory: CellDirectory, query: unknown): Promise<FairshareLive> {
  const address = cellOf(directory, query);
  const live = callCell(address, async () => await directory.cells.live(address));
  if (parse(cellQuerySchema, query).cell !== undefined) return await live;
  const others = directory.cells.addresses.filter(({ cell }) => cell !== address.cell);
  const [own, ...rest] = await Promise.all([
    live,
    ...others.map(async (other) => await directory.cells.live(other, BRIEF_DEADLINE_MS).catch(() => null)),
  ]);
  const answers = [own, ...rest.filter((answer) => answer !== null)];
  return {
    ...own,
    waiting: mergedWaiting(answers.map(({ waiting }) => waiting)),
    waiting_cells: answers.flatMap(({ waiting_cells }) => waiting_cells).sort(),
  };
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
