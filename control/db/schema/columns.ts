/**
 * Columns that every table has, and the columns that follow from a table of fields
 * (docs/rules/storage-layouts.md#relational-tables).
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
 * Reads a time as the database shows it, in whatever zone its session has. Offsets of years before 1900 have seconds, and
 * near the limits the year 9999 may show as 10000 and the year 1 as 1 BC. JavaScript's own parser accepts none of these,
 * and reads the year 0001 as 2001. Throws for any other text.
 */
export function parseShownTime(text: string): Date {
  const parts = SHOWN_TIME.exec(text)?.groups;
  if (parts === undefined) throw new Error("the database has shown a time in an unknown format");
  const number = (name: string): number => Number(parts[name] ?? 0);
  const millis = Number((parts["fraction"] ?? "").slice(0, 3).padEnd(3, "0"));
  const local = new Date(0);
  // 1 BC is the year 0 here
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

/** The default of a time column. */
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

/**
 * The columns of a table of fields. Defaults of the database are not part of it: a column with a default is declared beside
 * them.
 */
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

/** The revision, from the sequence `config_rev`; every write sets it. */
export const revColumn = { rev: bigint("rev", { mode: "number" }).notNull() };
