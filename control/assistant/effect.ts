/**
 * What a proposed write would do, in words that the model has no part in (docs/rules/assistant.md#proposals). Pure. Values are
 * data of other people: they are shown as JSON and cut.
 */
import type { AssistantChange, AssistantProposal } from "../../shared/assistant.ts";
import type { ApiCall } from "./model-tools.ts";
import type { AssistantOperation } from "./operations.ts";

const CHANGES_MAX = 60;
const VALUE_MAX_CHARACTERS = 400;
/** The fields that may name a record, the best first. */
const NAMES = ["model_name", "name", "email", "key_prefix"];

/** Writes that have no way back, besides deletions: an old secret, rows or leases are gone after them. */
const FINAL: readonly string[] = [
  "POST /keys/{id}/rotate",
  "POST /models/{id}/replicas/clear-lost",
  "POST /usage/compact",
  "PUT /settings/usage-retention",
];

type StoredRecord = Readonly<Record<string, unknown>>;

/** What is read to show the effect of a call; null: there is no such read. */
interface RecordReads {
  /** Answers with what the path names, or with 404 where that is not there yet. */
  readonly own: string | null;
  /** Answers with the object that this belongs to. */
  readonly parent: string | null;
}

/** The effect of a proposal. `records`: as they are now, of {@link recordReads}; null: not known, or nothing. */
export function effectOf(
  { summary, method, path }: AssistantOperation,
  { body }: ApiCall,
  records: { readonly own: StoredRecord | null; readonly parent: StoredRecord | null },
): Pick<AssistantProposal, "summary" | "object" | "parent" | "changes" | "isFinal"> {
  const given: unknown = body === null ? {} : JSON.parse(body);
  // What a creation sets is not what the record has that it is created in.
  const before = method === "POST" ? null : records.own;
  const changes = Object.entries(given as Readonly<Record<string, unknown>>)
    .slice(0, CHANGES_MAX)
    .map(([field, to]): AssistantChange => {
      const isKnown = before !== null && Object.hasOwn(before, field);
      return { field: cut(field), from: isKnown ? shown(before[field]) : null, to: shown(to) };
    });
  const { own, parent } = records;
  const isFinal = method === "DELETE" || FINAL.includes(`${method} ${path}`);
  return { summary, object: nameOf(own), parent: nameOf(parent), changes, isFinal };
}

/**
 * The reads that say what a call is about. What is cut off a path to find its own record holds no parameter: what is above a
 * parameter is another object.
 */
export function recordReads(
  { path, method }: AssistantOperation,
  call: ApiCall,
  operations: readonly AssistantOperation[],
): RecordReads {
  const wanted = path.split("/");
  const given = (call.path.split("?")[0] ?? "").split("/");
  const isParameter = (at: number): boolean => wanted[at]?.startsWith("{") === true;
  const lengths = wanted
    .map((_, at) => wanted.length - at)
    .filter((length) => length > (method === "POST" ? 2 : 1))
    .filter((length) =>
      operations.some((one) => one.method === "GET" && one.path === wanted.slice(0, length).join("/")),
    );
  const lastParameter = wanted.findLastIndex((_, at) => isParameter(at));
  const own = lengths.find((length) => length > lastParameter) ?? null;
  const parent = lengths.find((length) => length < (own ?? wanted.length) && isParameter(length - 1)) ?? null;
  const first = (length: number | null): string | null => (length === null ? null : given.slice(0, length).join("/"));
  return { own: first(own), parent: first(parent) };
}

function nameOf(record: StoredRecord | null): string | null {
  const names = NAMES.map((field) => record?.[field]).filter((value) => typeof value === "string");
  const name = names.find((value) => value !== "");
  return name === undefined ? null : cut(name);
}

function shown(value: unknown): string {
  return cut(JSON.stringify(value) ?? "null");
}

function cut(text: string): string {
  const whole = text.toWellFormed();
  return whole.length <= VALUE_MAX_CHARACTERS ? whole : `${whole.slice(0, VALUE_MAX_CHARACTERS).toWellFormed()}…`;
}
