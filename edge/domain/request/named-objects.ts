/**
 * The objects of an upstream's account that a body names: earlier answers, conversations, containers, files, vector
 * stores (docs/rules/routes.md#objects-of-upstreams). Names are read wherever they stand, as the most lenient server would
 * read them; data that is the client's own (metadata, JSON schemas, arguments of tools) names no object.
 */
import { type JsonDocument, jsonObjectOf } from "../wire/json/document.ts";
import { foldedName } from "./client-fields.ts";

/** Fields whose text, or list of texts, is an id. */
const IDS: ReadonlySet<string> = new Set([
  "previous_response_id",
  "conversation",
  "container",
  "container_id",
  "file_id",
  "file_ids",
  "vector_store_ids",
  "cached_content",
]);
/** Fields whose object has the id as its `id`. */
const OBJECTS: ReadonlySet<string> = new Set(["conversation", "container", "prompt", "audio"]);
const OWN_DATA: ReadonlySet<string> = new Set(["metadata", "parameters", "schema", "input_schema"]);
/** Items that an upstream looks up by their id when they come without what they contain. */
const LOOKED_UP: ReadonlySet<unknown> = new Set([undefined, null, "reasoning", "image_generation_call", "compaction"]);
const CONTENTS = ["role", "content", "encrypted_content", "result"] as const;

/** Members of objects and lists that are read in one piece. */
const PIECE_MEMBERS = 10_000;

/**
 * The ids that the document names, each with the field that names it. The work is done in pieces: it yields between them.
 */
export function* namedObjects(document: JsonDocument): Generator<void, ReadonlyMap<string, string>> {
  const { root } = document;
  const named = new Map<string, string>();
  const add = (id: unknown, field: string): void => {
    if (typeof id === "string" && id !== "") named.set(document.text(id), field);
  };
  const open: object[] = [root];
  let members = 0;
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    const isList = Array.isArray(value);
    for (const [name, child] of Object.entries(value)) {
      members += 1;
      if (members % PIECE_MEMBERS === 0) yield;
      const field = isList ? "" : foldedName(name);
      const object = jsonObjectOf(child);
      // An object as `input` has the arguments of a tool.
      if (OWN_DATA.has(field) || (field === "input" && object !== null)) continue;
      if (OBJECTS.has(field)) add(object?.["id"], field);
      if (IDS.has(field)) for (const id of Array.isArray(child) ? child : [child]) add(id, field);
      if (object?.["type"] === "item_reference") add(object["id"], "input");
      if (typeof child === "object" && child !== null) open.push(child);
    }
  }
  const { input } = root;
  for (const item of Array.isArray(input) ? input.map(jsonObjectOf) : [])
    if (item !== null && LOOKED_UP.has(item["type"]) && CONTENTS.every((name) => isEmpty(item[name])))
      add(item["id"], "input");
  return named;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
}
