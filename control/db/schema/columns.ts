/**
 * Columns that every table shares, and those of a table of fields (docs/rules/storage-layouts.md#relational-tables).
 */
import { type NotNull, sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  customType,
  doublePrecision,
  integer,
  jsonb,
  type PgColumn,
  text,
  uuid,
} from "drizzle-orm/pg-core";
import type { z } from "zod";
import type { ColumnKind, Field, FieldTable } from "../../../shared/fields/field-table.ts";

const SHOWN_TIME =
  /^(?<year>\d{4,6})-(?<month>\d\d)-(?<day>\d\d) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:\.(?<fraction>\d+))?(?<sign>[+-])(?<east>\d\d)(?::(?<eastMinute>\d\d))?(?::(?<eastSecond>\d\d))?(?<era> BC)?$/;

/**
 * The time that the database shows as a text, in whatever zone its session has: zones of before 1900 have seconds, the year
 * 9999 may be 10000 in the east and the year 1 may be 1 BC in the west. JavaScript's own parser takes none of them, and reads
 * the year 0001 as 2001. Throws for another text.
 */
export function parseShownTime(text: string): Date {
  const parts = SHOWN_TIME.exec(text)?.groups;
  if (parts === undefined) throw new Error("the database has shown a time in an unknown format");
  const number = (name: string): number => Number(parts[name] ?? 0);
  const millis = Number((parts["fraction"] ?? "").slice(0, 3).padEnd(3, "0"));
  const local = new Date(0);
  // the year before 1 is 1 BC, which is 0 here
  const year = parts["era"] === undefined ? number("year") : 1 - number("year");
  local.setUTCFullYear(year, number("month") - 1, number("day"));
  local.setUTCHours(number("hour"), number("minute"), number("second"), millis);
  const east = (number("east") * 60 + number("eastMinute")) * 60 + number("eastSecond");
  return new Date(local.getTime() - (parts["sign"] === "-" ? -1 : 1) * east * 1000);
}

const TIME_TYPE = "timestamp with time zone";

/** A point in time, in the years 1 to 9999. */
export const instant = customType<{ data: Date; driverData: string }>({
  dataType: () => TIME_TYPE,
  toDriver: (date) => date.toISOString(),
  fromDriver: parseShownTime,
});

/** True for a column made by {@link instant}. */
export function isInstant(column: Pick<PgColumn, "getSQLType"> | undefined): boolean {
  return column?.getSQLType() === TIME_TYPE;
}

/** Default of a time. */
export const NOW = sql`now()`;

const COLUMNS = {
  uuid: (name: string) => uuid(name),
  text: (name: string) => text(name),
  integer: (name: string) => integer(name),
  bigint: (name: string) => bigint(name, { mode: "number" }),
  double: (name: string) => doublePrecision(name),
  boolean: (name: string) => boolean(name),
  instant: (name: string) => instant(name),
  json: (name: string) => jsonb(name).$type<unknown>(),
  texts: (name: string) => jsonb(name).$type<string[]>(),
} as const satisfies Record<ColumnKind, (name: string) => unknown>;

type ColumnOf<F extends Field> =
  null extends z.infer<F["value"]>
    ? ReturnType<(typeof COLUMNS)[F["column"]]>
    : NotNull<ReturnType<(typeof COLUMNS)[F["column"]]>>;

type FieldColumns<T extends FieldTable> = { -readonly [K in keyof T]: ColumnOf<T[K]> };

/** The columns of a table of fields. Defaults of the database are not in it: such a column is stated beside them. */
export function fieldColumns<T extends FieldTable>(fields: T): FieldColumns<T> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, { column, value, unique }]) => {
      const nullable = COLUMNS[column](name);
      const built = value.safeParse(null).success ? nullable : nullable.notNull();
      return [name, unique === true ? built.unique() : built];
    }),
  ) as unknown as FieldColumns<T>;
}

export const idColumn = { id: uuid("id").primaryKey().default(sql`gen_random_uuid()`) };

export const timeColumns = {
  created_at: instant("created_at").notNull().default(NOW),
  updated_at: instant("updated_at").notNull().default(NOW),
};

/** Revision from the sequence `config_rev`; set by every write. */
export const revColumn = { rev: bigint("rev", { mode: "number" }).notNull() };
