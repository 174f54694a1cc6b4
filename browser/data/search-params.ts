/**
 * What the address of a view says, validated: a parameter that is missing, of another kind or not known is absent, and the view
 * takes its default. The router reads values as JSON, so that a text may arrive as a number.
 */
import { textOf } from "./untyped.ts";

type Param<T> = (value: unknown) => T | undefined;

/** What stands in the address, where it is a plain value: an object may not even become a text. */
function writtenOf(value: unknown): string | undefined {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : (textOf(value) ?? undefined);
}

/** Texts of at most `max` characters. */
export function textParam(max: number): Param<string> {
  return (value) => {
    const text = writtenOf(value);
    return text !== undefined && text !== "" && text.length <= max ? text : undefined;
  };
}

/** One of these. */
export function choiceParam<const C extends readonly string[]>(choices: C): Param<C[number]> {
  return (value) => choices.find((choice) => choice === writtenOf(value));
}

const NUMBER = /^-?\d+(\.\d+)?$/;

/** Numbers from `min` to `max`, also as a text that is nothing but their digits: a link may write them as texts. */
export function numberParam(min: number, max: number): Param<number> {
  return (value) => {
    const amount = typeof value === "string" && NUMBER.test(value) ? Number(value) : value;
    return typeof amount === "number" && amount >= min && amount <= max ? amount : undefined;
  };
}

/** `true`, or absent. */
export const flagParam: Param<true> = (value) => (value === true ? true : undefined);

/** How a list is looked at: its order, such as `-name`, and the identifiers of its columns, separated by commas. */
export const LIST_PARAMS = { sort: textParam(40), columns: textParam(300) };

/** Like {@link LIST_PARAMS}, of one of several lists of a page: their names begin with the prefix. */
export function listParams<const P extends string>(
  prefix: P,
): { readonly [N in keyof typeof LIST_PARAMS as `${P}${N}`]: (typeof LIST_PARAMS)[N] } {
  const named = Object.entries(LIST_PARAMS).map(([name, param]) => [`${prefix}${name}`, param] as const);
  return Object.fromEntries(named) as ReturnType<typeof listParams<P>>;
}

type Params = Readonly<Record<string, Param<unknown>>>;
type Search<P extends Params> = { [N in keyof P]?: Exclude<ReturnType<P[N]>, undefined> };

/**
 * The validation of a page's parameters. What the page does not name is dropped. A refused value stays as undefined: the router
 * lays the result over what the address says, where an absent one would let the refused value through.
 */
export function searchParams<P extends Params>(params: P): (search: Readonly<Record<string, unknown>>) => Search<P> {
  return (search) => {
    const given = Object.entries(params).filter(([name]) => Object.hasOwn(search, name));
    return Object.fromEntries(given.map(([name, param]) => [name, param(search[name])])) as Search<P>;
  };
}

/** Parameters with a change; undefined takes one away. */
export function changedSearch<S extends object>(before: S, change: { readonly [N in keyof S]?: S[N] | undefined }): S {
  return Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value !== undefined)) as S;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The id that an address names; undefined when it names none. */
export function idOf(id: string | undefined): string | undefined {
  return id !== undefined && UUID.test(id) ? id.toLowerCase() : undefined;
}
