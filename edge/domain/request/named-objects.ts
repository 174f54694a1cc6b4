/**
 * The objects of an upstream's account that a body names: earlier answers and their items, conversations, containers, files,
 * vector stores, skills (docs/rules/routes.md#objects-of-upstreams). Names are read in the client's own bytes, wherever they
 * stand and however often, because servers differ in which of two equal names they use; data that is the client's own
 * (metadata, JSON schemas, arguments of tools) names no object.
 */
import type { Steps } from "../../../shared/steps.ts";
import { BytePieces, type Span } from "../wire/bytes/byte-pieces.ts";
import { type JsonPath, pathUnitsOf, stringAt, stringPlaces } from "../wire/json/string-places.ts";
import { foldedName } from "./client-fields.ts";
import { fieldPlaceUse, isOwnPlaceAt, type PlaceUse, placeUse } from "./file-places.ts";
import { isHolder, stepsOf } from "./steering-fields.ts";

/** An object that is named. */
interface NamedObject {
  readonly field: string;
  /** The upstream looks it up. Otherwise it is the id of an item that comes with its content, or of the answer to come. */
  readonly isLookedUp: boolean;
}

/**
 * The id that vLLM and SGLang give to the answer of this request, or what a server makes it of: with that of another answer it would
 * take its place.
 */
const CHOSEN: ReadonlySet<string> = new Set(["request_id", "rid"]);
const ANSWER_PREFIX = "resp_";
/** Fields whose text, or list of texts, is an id; also without underscores, as JSON of protocol buffers may write them. */
const IDS: ReadonlyMap<string, string> = new Map(
  [
    "previous_response_id",
    "conversation",
    "container",
    "container_id",
    "file_id",
    "file_ids",
    "vector_store_id",
    "vector_store_ids",
    "collection_ids",
    "library_ids",
    "knowledge_id",
    "prompt_id",
    "context_id",
    "cached_content",
    "cached_contents",
    "skill_id",
    "skills",
    ...CHOSEN,
  ].flatMap((name) => [
    [name, name],
    [name.replaceAll("_", ""), name],
  ]),
);
/** Fields whose object has the id as its `id`. */
const OBJECTS: ReadonlySet<string> = new Set(["conversation", "container", "prompt", "audio"]);
const OWN_DATA: ReadonlySet<string> = new Set(["metadata", "schema", "input_schema", "arguments"]);
/** What has such parameters is a tool, or a call of one. */
const TOOL = /^(?:tool|function)/;
/** Data of the client's own in which a setting may begin like the place of a file. */
const OWN_SETTINGS: ReadonlySet<string> = new Set(
  "args input_examples json_schema guided_json json structured_outputs structural_tag chat_template_kwargs variables documents attributes structured_content action operation citations annotations examples properties".split(
    " ",
  ),
);
/** The types of items that an upstream looks up by their id when they come without what they contain. */
const LOOKED_UP: ReadonlySet<string | undefined> = new Set([
  undefined,
  "message",
  "reasoning",
  "image_generation_call",
  "compaction",
  "code_interpreter_call",
  "file_search_call",
]);
const CONTENTS: ReadonlySet<string> = new Set(["role", "content", "encrypted_content", "result", "code", "queries"]);
/** Skills that an upstream offers to everyone have other names. */
const OWN_SKILL = /^skill_/i;

/** A longer type is not a known one. */
const TYPE_MAX_BYTES = 256;
/** No longer id is given by an upstream. */
const ID_MAX = 4_096;
/** Work for an item, in units. */
const KEY_UNITS = 8;
const decoder = new TextDecoder();

/** The ids that the JSON document names; `most` and one more if there are more. */
export function* namedObjects(pieces: readonly Uint8Array[], most: number): Steps<ReadonlyMap<string, NamedObject>> {
  const document = new BytePieces(pieces);
  let count = 0;
  const places = yield* stringPlaces(pieces, (path, isName, span) => {
    if (isName || count > most || (fieldOf(path) === null && !isPlace(document, path, span))) return false;
    count += 1;
    return true;
  });
  const lookedUp = new Map<string, NamedObject>();
  const others = new Map<string, NamedObject>();
  const items: { readonly id: string; readonly key: string }[] = [];
  for (const { path, span } of places) {
    yield pathUnitsOf(path);
    const id = (yield* stringAt(document, span)).slice(0, ID_MAX);
    const field = fieldOf(path) ?? folded(path.findLast((step) => typeof step === "string"));
    if (id === "" || (field.startsWith("skill") && !OWN_SKILL.test(id))) continue;
    if (CHOSEN.has(field)) {
      for (const each of [id, ANSWER_PREFIX + id]) others.set(each, { field, isLookedUp: false });
    } else if (field === "input") items.push({ id, key: keyOf(path, path.length - 1) });
    else lookedUp.set(id, { field, isLookedUp: true });
  }
  if (items.length > 0) {
    const incomplete = yield* lookedUpItems(pieces, document, new Set(items.map(({ key }) => key)));
    for (const { id, key } of items)
      if (incomplete.has(key)) lookedUp.set(id, { field: "input", isLookedUp: true });
      else others.set(id, { field: "input", isLookedUp: false });
  }
  return new Map([...others, ...lookedUp]);
}

/** Those of the items that their upstream looks up, or may: of two equal names nobody knows which one counts. */
function* lookedUpItems(
  pieces: readonly Uint8Array[],
  document: BytePieces,
  keys: ReadonlySet<string>,
): Steps<ReadonlySet<string>> {
  const references = new Set<string>();
  const names = new Set<string>();
  const types = new Map<string, string>();
  const complete = new Set<string>();
  yield* stringPlaces(pieces, (path, isName, { start, end }) => {
    if (folded(path[0]) !== "input") return false;
    const last = folded(path.at(-1));
    if (isName || last === "type") {
      if (last !== "type" && !CONTENTS.has(last)) return false;
      const key = keyOf(path, path.length - 1);
      if (!keys.has(key)) return false;
      if (!isName) types.set(key, end - start > TYPE_MAX_BYTES ? "" : textOf(document.slice(start, end)));
      else if (names.has(`${last} ${key}`)) references.add(key);
      else names.add(`${last} ${key}`);
      if (types.get(key) === "item_reference") references.add(key);
    } else if (end - start > '""'.length) {
      const at = itemSteps(path);
      const key = keyOf(path, at);
      if (keys.has(key) && CONTENTS.has(folded(path[at]))) complete.add(key);
    }
    return false;
  });
  for (const key of keys) {
    yield KEY_UNITS;
    if (isItemKey(key) && LOOKED_UP.has(types.get(key)) && !complete.has(key)) references.add(key);
  }
  return references;
}

/** Whether the name of a form's field, such as `images[][file_id]`, has an id as its value. */
export function isObjectField(name: string): boolean {
  const [first = "", ...rest] = foldedName(name).split(/[^a-z_]+/);
  return !OWN_DATA.has(first) && [first, ...rest].some((step) => IDS.has(step));
}

/** What the text of a form's field may be as the place of a file, which must be none of the upstream's own. */
export function placeUseOfField(name: string): PlaceUse {
  return OWN_DATA.has(stepsOf(foldedName(name))[0] ?? "") ? null : fieldPlaceUse(name);
}

/** The field that a text at this place is an id of; `input` for items, null for none. */
function fieldOf(path: JsonPath): string | null {
  const at = path.findLastIndex((step) => typeof step === "string");
  const name = folded(path[at]);
  if (name !== "id") {
    const field = IDS.get(name) ?? null;
    const counts = field !== null && (CHOSEN.has(field) ? isOfRequest(path, at) : !isOwnData(path, at));
    return counts ? field : null;
  }
  if (at !== path.length - 1) return null;
  const above = folded(path.findLast((step, nth) => nth < at && typeof step === "string"));
  const field = OBJECTS.has(above) ? above : folded(path[0]) === "input" ? "input" : null;
  return field === null || isOwnData(path, at) ? null : field;
}

/** Whether a text is the place of a file of the upstream's own: on its disk, or in a bucket of its account. */
function isPlace(document: BytePieces, path: JsonPath, span: Span): boolean {
  const at = path.findLastIndex((step) => typeof step === "string");
  const above = path.findLast((step, nth) => nth < at && typeof step === "string");
  const use = placeUse(folded(path[at]), folded(above));
  if (!isOwnPlaceAt(document, use, span) || isOwnData(path, at)) return false;
  return use !== "setting" || !path.some((step) => OWN_SETTINGS.has(folded(step)));
}

/** Whether a member is one of the request: its own, or of something that has such. */
function isOfRequest(path: JsonPath, at: number): boolean {
  return path.slice(0, at).every((step) => typeof step === "number" || isHolder(step));
}

/** Whether the place is in data of the client's own; `end`: the step that names an object. */
function isOwnData(path: JsonPath, end: number): boolean {
  return path.some((step, at) => {
    if (at >= end) return false;
    const name = folded(step);
    // a JSON schema has no such names of its own; an object as `input` of an item has the arguments of a tool
    if (name === "parameters") return isOfTool(path, at) && !isNaming(folded(path[at + 1]));
    return OWN_DATA.has(name) || (name === "input" && at > 0 && typeof path[at + 1] === "string");
  });
}

function isOfTool(path: JsonPath, end: number): boolean {
  return path.some((step, at) => at < end && TOOL.test(folded(step)));
}

function isNaming(name: string): boolean {
  return IDS.has(name) || OBJECTS.has(name);
}

/** Steps to the item that a place in `input` belongs to. */
function itemSteps(path: JsonPath): number {
  return typeof path[1] === "number" ? 2 : 1;
}

/** Whether the key is that of an item, not of something in it. */
function isItemKey(key: string): boolean {
  return /^[^\n]+(?:\n\d+)?$/.test(key);
}

function keyOf(path: JsonPath, steps: number): string {
  return path.slice(0, steps).join("\n");
}

/** Nearly every name, which needs no folding. */
const FOLDED = /^[a-z_]{1,64}$/;

function folded(step: string | number | undefined): string {
  if (typeof step !== "string") return "";
  return FOLDED.test(step) ? step : foldedName(step);
}

function textOf(bytes: Uint8Array): string {
  return String(JSON.parse(decoder.decode(bytes)));
}
