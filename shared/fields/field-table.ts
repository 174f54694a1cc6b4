/**
 * One table of fields per resource: each entry states the column of a field, its type, and where it is shown. The columns of
 * the database, the record of the Management API, the rows of a backup and the hot copy are derived from the table, so that a
 * new field is one more entry. A value that may be null makes its column nullable, so that this is stated only once. The Worker
 * loads these tables with the hot copies, so they import only zod.
 */
import type * as z from "zod";

/** How the database stores a field. `json` is any value, `texts` a list of texts, `instant` a point in time. */
export type ColumnKind = "uuid" | "text" | "integer" | "bigint" | "double" | "boolean" | "instant" | "json" | "texts";

/** Fields of an object, as zod takes them. */
type Shape = Readonly<Record<string, z.ZodType>>;

export interface Field {
  readonly column: ColumnKind;
  /** No two rows have the same value. */
  readonly unique?: true;
  /** The value as a reader sees it. In a record a time is a text. */
  readonly value: z.ZodType;
  /**
   * Absent: the record shows the field under its own name. False: the record does not show it. Otherwise the fields that
   * the record shows in its place.
   */
  readonly record?: false | Shape;
  /** Whether the rows of a backup contain the field; absent means yes. */
  readonly backup?: false;
  /**
   * True: the hot copy contains the field under its own name. Otherwise the fields that the copy has in its place. Absent:
   * the data plane does not know the field.
   */
  readonly hot?: true | Shape;
}

export type FieldTable = Readonly<Record<string, Field>>;

type Place = "record" | "hot";

/** True for a field that a place shows under its own name. */
type IsPlain<F extends Field, P extends Place> = P extends "hot"
  ? F extends { readonly hot: true }
    ? true
    : false
  : F extends { readonly record: unknown }
    ? false
    : true;

type Plain<T extends FieldTable, P extends Place> = {
  [K in keyof T as IsPlain<T[K], P> extends true ? K : never]: T[K]["value"];
};

type Instead<F, P extends Place> = F extends Readonly<Record<P, infer S extends Shape>> ? S : never;

type Intersection<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never;

type Flat<T> = { [K in keyof T]: T[K] };

/** The fields of a table that a place shows. */
type PlaceShape<T extends FieldTable, P extends Place> = Flat<Plain<T, P> & Intersection<Instead<T[keyof T], P>>>;

/** The fields that the record shows, in the order of the table. */
export function recordShape<T extends FieldTable>(fields: T): PlaceShape<T, "record"> {
  return shapeOf(fields, ({ record = true }) => record) as PlaceShape<T, "record">;
}

/** The fields that the hot copy contains, in the order of the table. */
export function hotShape<T extends FieldTable>(fields: T): PlaceShape<T, "hot"> {
  return shapeOf(fields, ({ hot = false }) => hot) as PlaceShape<T, "hot">;
}

/** A schema for each field that a backup contains. An object with a missing or an extra field does not compile. */
export type StoredShape<T extends FieldTable> = {
  [K in keyof T as T[K] extends { readonly backup: false } ? never : K]: z.ZodType;
};

/**
 * The same shape with one field moved after another one. The JSON of clients and stores has this order: copies are compared as
 * texts, so another order would be a different text.
 */
export function movedAfter<S extends Shape>(shape: S, name: keyof S & string, after: keyof S & string): S {
  const entries = Object.entries(shape).filter(([key]) => key !== name);
  const at = entries.findIndex(([key]) => key === after) + 1;
  const moved = shape[name];
  if (moved === undefined || at === 0) throw new Error(`cannot move ${name} behind ${after}`);
  return Object.fromEntries(entries.toSpliced(at, 0, [name, moved])) as S;
}

function shapeOf(fields: FieldTable, placed: (field: Field) => boolean | Shape): Shape {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const place = placed(field);
      if (place === true) return [[name, field.value] as const];
      return place === false ? [] : Object.entries(place);
    }),
  );
}
