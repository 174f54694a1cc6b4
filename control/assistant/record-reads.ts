/**
 * Where the records are that a proposed write is about (docs/rules/assistant.md#proposals), and how each is found in an answer.
 * Pure. A list is read whole for one of its rows where that has no read of its own.
 */
import { UUID } from "../kernel/parse.ts";
import type { ApiCall } from "./model-tools.ts";
import type { AssistantOperation } from "./operations.ts";

export type StoredRecord = Readonly<Record<string, unknown>>;

/** A read, and which part of its answer is the record. */
export interface RecordRead {
  /** Below /api/v1, with its query. */
  readonly path: string;
  /** The row of a list whose field has this value; null: the answer is no list. */
  readonly row: { readonly field: "id" | "name"; readonly value: string } | null;
  /** The member of the answer that is the record; null: all of it. */
  readonly member: string | null;
}

/** The reads for a call; null if there is none. */
interface RecordReads {
  /** Of what the path names, which may not be there yet. */
  readonly own: RecordRead | null;
  /** Of the object that this belongs to. */
  readonly parent: RecordRead | null;
}

/** Answers that hold the record beside other things. */
const MEMBERS: Readonly<Record<string, string>> = {
  "/models/{id}/health": "summary",
  "/benchmarks/{id}": "plan",
};
/** Fields that hold the id of another object, and where that is read. */
export const LINKS: Readonly<Record<string, string>> = { tenant_id: "/tenants", model_id: "/models" };
/** The most rows that a list has at once. */
const WHOLE_LIST = "?limit=1000";

/**
 * The reads that say what a call is about. What is cut off a path to find its own record holds no parameter: what is above a
 * parameter is another object, or the list that this is in.
 */
export function recordReads(
  { path, method }: AssistantOperation,
  call: ApiCall,
  operations: readonly AssistantOperation[],
): RecordReads {
  const wanted = path.split("/");
  const given = (call.path.split("?")[0] ?? "").split("/");
  const isParameter = (at: number): boolean => wanted[at]?.startsWith("{") === true;
  const isRead = (length: number): boolean =>
    operations.some((one) => one.method === "GET" && one.path === wanted.slice(0, length).join("/"));
  const lengths = wanted
    .map((_, at) => wanted.length - at)
    .filter((length) => length > (method === "POST" ? 2 : 1))
    .filter(isRead);
  const lastParameter = wanted.findLastIndex((_, at) => isParameter(at));
  const own = lengths.find((length) => length > lastParameter) ?? null;
  const parent = lengths.find((length) => length < (own ?? wanted.length) && isParameter(length - 1)) ?? null;
  const first = (length: number | null): RecordRead | null =>
    length === null
      ? null
      : {
          path: given.slice(0, length).join("/"),
          row: null,
          member: MEMBERS[wanted.slice(0, length).join("/")] ?? null,
        };
  const inList = (): RecordRead | null =>
    lastParameter === -1 || !isRead(lastParameter)
      ? null
      : {
          path: `${given.slice(0, lastParameter).join("/")}${WHOLE_LIST}`,
          row: {
            field: wanted[lastParameter] === "{name}" ? "name" : "id",
            value: decodeURIComponent(given[lastParameter] ?? ""),
          },
          member: null,
        };
  return { own: first(own) ?? inList(), parent: first(parent) };
}

/** The ids of other objects in a record and in a body, and the read of each. */
export function linkedReads(own: StoredRecord | null, body: StoredRecord | null): ReadonlyMap<string, RecordRead> {
  const links = Object.entries(LINKS).flatMap(([field, list]) =>
    [own?.[field], body?.[field]].flatMap((id): readonly (readonly [string, RecordRead])[] =>
      typeof id === "string" && UUID.test(id) ? [[id, { path: `${list}/${id}`, row: null, member: null }]] : [],
    ),
  );
  return new Map(links);
}

/** The record in the answer to its read; null: it is not there. */
export function recordIn(answer: unknown, { row, member }: RecordRead): StoredRecord | null {
  const value = member === null ? answer : recordOf(answer)?.[member];
  if (row === null) return recordOf(value);
  const { field, value: wanted } = row;
  const isWanted = (one: unknown): boolean => {
    const given = recordOf(one)?.[field];
    return typeof given === "string" && (given === wanted || (field === "id" && given === wanted.toLowerCase()));
  };
  return Array.isArray(value) ? recordOf(value.find(isWanted)) : null;
}

function recordOf(value: unknown): StoredRecord | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as StoredRecord) : null;
}
