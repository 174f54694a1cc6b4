/**
 * What values that come from a disk or another machine must be. A shape is the only statement of a record: its type, whether a
 * value has it, and which part of a value is invalid. Fields that a shape does not name are ignored.
 */
import { isAmount } from "../../../shared/money/amount.ts";

/** The path from the value to its first part that is invalid; null: it is a T. */
export interface Shape<T> {
  (value: unknown): string | null;
  /** Never present at run time: only for the types. */
  readonly of?: T;
}

/** The type of a shape. */
export type Of<S> = S extends Shape<infer T> ? T : never;

type Fields = Readonly<Record<string, Shape<unknown>>>;
type MaybeAbsent<F> = { [Name in keyof F]: undefined extends Of<F[Name]> ? Name : never }[keyof F];
type Plain<T> = { [Name in keyof T]: T[Name] };
export type RecordOf<F> = Plain<
  { readonly [Name in Exclude<keyof F, MaybeAbsent<F>>]: Of<F[Name]> } & {
    readonly [Name in MaybeAbsent<F>]?: Exclude<Of<F[Name]>, undefined>;
  }
>;

export function isOf<T>(shape: Shape<T>, value: unknown): value is T {
  return shape(value) === null;
}

/**
 * The name of the first invalid part, for human readers; `name` stands for the value itself; null: the value has the shape.
 * Callers clamp what enters the budgets, so a fault is a defect of the gateway: the code that finds one refuses the whole
 * message part, stores none of it and reports the name (docs/rules/budgets.md#amounts).
 */
export function faultIn(shape: Shape<unknown>, value: unknown, name = ""): string | null {
  const path = shape(value);
  if (path === null) return null;
  return name === "" ? path.slice(1) : name + path;
}

function shapeOf<T>(is: (value: unknown) => boolean): Shape<T> {
  return (value) => (is(value) ? null : "");
}

/** Whether a value has fields to look at. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

export const text = shapeOf<string>((value) => typeof value === "string");
export const flag = shapeOf<boolean>((value) => typeof value === "boolean");
/** A finite number. */
export const number = shapeOf<number>(Number.isFinite);
export const integer = shapeOf<number>(Number.isSafeInteger);
export const amount = shapeOf<number>(isAmount);

export function oneOf<const T>(...values: readonly T[]): Shape<T> {
  return shapeOf((value) => (values as readonly unknown[]).includes(value));
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return (value) => (value === null ? null : shape(value));
}

export function orAbsent<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value) => (value === undefined ? null : shape(value));
}

export function record<F extends Fields>(fields: F): Shape<RecordOf<F>> {
  const shapes = Object.entries(fields);
  return (value) => {
    if (!isObject(value)) return "";
    for (const [name, shape] of shapes) {
      const path = shape(value[name]);
      if (path !== null) return `.${name}${path}`;
    }
    return null;
  };
}

export function listOf<T>(shape: Shape<T>): Shape<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value)) return "";
    for (const item of value) {
      const path = shape(item);
      if (path !== null) return path;
    }
    return null;
  };
}

export function pairOf<A, B>(first: Shape<A>, second: Shape<B>): Shape<readonly [A, B]> {
  return shapeOf((value) => Array.isArray(value) && isOf(first, value[0]) && isOf(second, value[1]));
}

/** By names that are not known in advance. */
export function mapOf<T>(shape: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return shapeOf((value) => isObject(value) && Object.values(value).every((each) => isOf(shape, each)));
}

export function anyOf<S extends readonly Shape<unknown>[]>(...shapes: S): Shape<Of<S[number]>> {
  return shapeOf((value) => shapes.some((shape) => isOf(shape, value)));
}

/** A shape with a further condition. */
export function where<T>(shape: Shape<T>, is: (value: T) => boolean): Shape<T> {
  return (value) => shape(value) ?? (is(value as T) ? null : "");
}
