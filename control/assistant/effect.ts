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

/** The effect of a proposal. `record`: what the path names, as it is now; null: not known, or nothing. */
export function effectOf(
  { summary, method }: AssistantOperation,
  { body }: ApiCall,
  record: Readonly<Record<string, unknown>> | null,
): Pick<AssistantProposal, "summary" | "object" | "changes" | "isFinal"> {
  const given: unknown = body === null ? {} : JSON.parse(body);
  // What a creation sets is not what the record has that it is created in.
  const before = method === "POST" ? null : record;
  const changes = Object.entries(given as Readonly<Record<string, unknown>>)
    .slice(0, CHANGES_MAX)
    .map(([field, to]): AssistantChange => {
      const isKnown = before !== null && Object.hasOwn(before, field);
      return { field: cut(field), from: isKnown ? shown(before[field]) : null, to: shown(to) };
    });
  return { summary, object: nameOf(record), changes, isFinal: method === "DELETE" };
}

/** Paths of reads that may answer what a path of a write is about, the nearest first. */
export function recordPaths(
  { path, method }: AssistantOperation,
  call: ApiCall,
  operations: readonly AssistantOperation[],
): readonly string[] {
  const wanted = path.split("/");
  const given = (call.path.split("?")[0] ?? "").split("/");
  const lengths = wanted.map((_, at) => wanted.length - at).filter((length) => length > (method === "POST" ? 2 : 1));
  return lengths
    .filter((length) =>
      operations.some((one) => one.method === "GET" && one.path === wanted.slice(0, length).join("/")),
    )
    .map((length) => given.slice(0, length).join("/"));
}

function nameOf(record: Readonly<Record<string, unknown>> | null): string | null {
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
