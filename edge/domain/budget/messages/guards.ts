/** Checks of the form of values that come from a disk or another machine. Guards are composed of smaller ones. */

/** Whether a value is a T. */
export type Guard<T> = (value: unknown) => value is T;

/** Whether a value has fields to look at. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

export function isString(value: unknown): value is string {
  return typeof value === "string";
}

export function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

/** Whether a value is a number that is finite. */
export function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

export function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** Whether a value is null or passes another guard. */
export function orNull<T>(is: Guard<T>): Guard<T | null> {
  return (value) => value === null || is(value);
}

/** Whether a value is absent or passes another guard. */
export function orAbsent<T>(is: Guard<T>): Guard<T | undefined> {
  return (value) => value === undefined || is(value);
}

/** Whether a value is one of these. */
export function oneOf<T>(...values: readonly T[]): Guard<T> {
  return (value): value is T => (values as readonly unknown[]).includes(value);
}

/** Whether every field passes its guard; other fields are ignored. */
export function withFields<T>(fields: { readonly [Name in keyof T]: Guard<T[Name]> }): Guard<T> {
  const guards: [string, Guard<unknown>][] = Object.entries(fields);
  return (value): value is T => isObject(value) && guards.every(([name, is]) => is(value[name]));
}

/** Whether a value is an array whose items all pass the guard. */
export function arrayOf<T>(is: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(is);
}

/** Whether a value is an array of exactly two items, the first of one kind and the second of another. */
export function pairOf<A, B>(isFirst: Guard<A>, isSecond: Guard<B>): Guard<readonly [A, B]> {
  return (value): value is readonly [A, B] => Array.isArray(value) && isFirst(value[0]) && isSecond(value[1]);
}
