/** A page reads about as many rows as it shows (docs/rules/management-api.md#lists). */
import { expect, it } from "vitest";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { parsePage, readPage } from "./paging.ts";

/** Rows of a list by their sizes, and how many of them each statement reads. */
function listOf(sizes: readonly number[]) {
  const parts: number[] = [];
  const page = async (query: { readonly limit?: string; readonly cursor?: string }) =>
    await readPage(
      parsePage(query),
      async ({ limit, after }) => {
        const from = after === null ? 0 : Number(after[0]) + 1;
        const found = sizes.slice(from, from + limit).map((size, at) => ({ at: from + at, text: "x".repeat(size) }));
        parts.push(found.length);
        return found;
      },
      ({ at }) => [String(at)],
      (row) => row,
    );
  return { parts, page };
}
const LARGE = 200_000;
const times = (count: number, size: number): readonly number[] => Array.from({ length: count }, () => size);

it("of large rows it reads no more than a few that it does not show", async () => {
  const { parts, page } = listOf(times(300, LARGE));
  const { rows } = await page({ limit: "1000" });
  const read = parts.reduce((sum, count) => sum + count, 0);
  expect({ shown: rows.length, few: read - rows.length < 10 }).toEqual({ shown: 20, few: true });
});

it("of rows that become large it reads as little", async () => {
  const { parts, page } = listOf([...times(60, 100), ...times(900, LARGE)]);
  const { rows } = await page({ limit: "1000" });
  expect({ shown: rows.length, most: Math.max(...parts) <= 50, parts: parts.length }).toEqual({
    shown: 80,
    most: true,
    parts: 3,
  });
});

it.each([1, 4, 5, 6, 55, 100])("has %i rows at most, and reads one more", async (limit) => {
  const { parts, page } = listOf(times(120, 10));
  const { rows, next } = await page({ limit: String(limit) });
  const read = parts.reduce((sum, count) => sum + count, 0);
  expect({ rows: rows.length, read, isLast: next === null }).toEqual({ rows: limit, read: limit + 1, isLast: false });
});

it("pages have every row once, whatever their sizes, and no page is longer than its bytes", async () => {
  const sizes = Array.from({ length: 150 }, (_, at) => (at % 7 === 0 ? LARGE : at % 50 === 9 ? 5_000_000 : at));
  const { page } = listOf(sizes);
  const found: number[] = [];
  const long: number[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { rows, next } = await page({ limit: "60", ...(cursor === "" ? {} : { cursor }) });
    found.push(...rows.map(({ at }) => at));
    if (rows.length > 1 && JSON.stringify(rows).length > LIMITS.listBytes * 1.01) long.push(rows.length);
    cursor = next;
  }
  expect({ found, long }).toEqual({ found: sizes.map((_, at) => at), long: [] });
});
