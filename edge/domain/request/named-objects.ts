/**
 * The objects of an upstream's account that a body names: earlier answers and their items, conversations, containers, files,
 * vector stores, skills (docs/rules/routes.md#objects-of-upstreams). Names are read in the client's own bytes, at every place
 * and every time they occur, because servers differ in which of two equal names they use; data that is the client's own
 * (metadata, JSON schemas, arguments of tools) names no object.
 */
import type { Steps } from "../../../shared/steps.ts";
import { BytePieces, type Span } from "../wire/bytes/byte-pieces.ts";
import { stringAt, stringPlaces } from "../wire/json/string-places.ts";
import { foldedName } from "./client-fields.ts";
import { fieldPlaceUse, hasDotAt, isOwnPlaceAt, type PlaceUse } from "./file-places.ts";
import { CHOSEN, IDS, type KnownWay, OWN_DATA, wayOf } from "./known-way.ts";
import { stepsOf } from "./steering-fields.ts";

/** An object that is named. */
interface NamedObject {
  readonly field: string;
  /** The upstream looks it up. Otherwise it is the id of an item that comes with its content, or of the answer to come. */
  readonly isLookedUp: boolean;
}

const ANSWER_PREFIX = "resp_";
/** The types of items that an upstream looks up by their id if they come without their content. */
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
/** Work for a place, and for an item, in units. */
const PLACE_UNITS = 8;
const KEY_UNITS = 8;
const decoder = new TextDecoder();

/**
 * The ids that the JSON document names; null if it names some at more than `most` places. `readsDocuments`: media in its `documents`
 * are read.
 */
export function* namedObjects(
  pieces: readonly Uint8Array[],
  most: number,
  readsDocuments = true,
): Steps<ReadonlyMap<string, NamedObject> | null> {
  const document = new BytePieces(pieces);
  let count = 0;
  const places = yield* stringPlaces(pieces, wayOf(readsDocuments), (_path, isName, span, known) => {
    if (isName || count > most || isEmpty(span)) return false;
    if (known.name === "type" && known.up !== null)
      known.up.label = known.up.label === null ? typeAt(document, span) : "";
    const isOwn = known.field !== null || isOwnPlaceAt(document, known.use, span);
    if (isOwn === true) count += 1;
    return isOwn !== false;
  });
  if (count > most) return null;
  const lookedUp = new Map<string, NamedObject>();
  const others = new Map<string, NamedObject>();
  const items: { readonly id: string; readonly item: KnownWay }[] = [];
  for (const { span, known } of places) {
    yield PLACE_UNITS;
    if (known.field === null && (known.isText || !(yield* isPlace(document, known, span)))) continue;
    const id = (yield* stringAt(document, span)).slice(0, ID_MAX);
    const field = known.field ?? known.leaf.name;
    if (id === "" || (field.startsWith("skill") && !OWN_SKILL.test(id))) continue;
    if (CHOSEN.has(field)) {
      for (const each of [id, ANSWER_PREFIX + id]) others.set(each, { field, isLookedUp: false });
    } else if (field === "input" && known.up !== null) items.push({ id, item: known.up });
    else lookedUp.set(id, { field, isLookedUp: true });
  }
  if (items.length > 0) {
    const incomplete = yield* lookedUpItems(pieces, document, new Map(items.map(({ item }) => [item.nth, item])));
    for (const { id, item } of items)
      if (incomplete.has(item.nth)) lookedUp.set(id, { field: "input", isLookedUp: true });
      else others.set(id, { field: "input", isLookedUp: false });
  }
  return new Map([...others, ...lookedUp]);
}

function* isPlace(document: BytePieces, { use }: KnownWay, span: Span): Steps<boolean> {
  return isOwnPlaceAt(document, use, span) ?? (yield* hasDotAt(document, span));
}

/** Those of the items that their upstream looks up, or may look up: it is unknown which of two equal names counts. */
function* lookedUpItems(
  pieces: readonly Uint8Array[],
  document: BytePieces,
  items: ReadonlyMap<number, KnownWay>,
): Steps<ReadonlySet<number>> {
  const references = new Set<number>();
  const names = new Set<string>();
  const types = new Map<number, string>();
  const complete = new Set<number>();
  yield* stringPlaces(pieces, wayOf(true), (_path, isName, span, { isInput, name, up, ofItem }) => {
    if (!isInput) return false;
    if (isName || name === "type") {
      if (name !== "type" && !CONTENTS.has(name)) return false;
      const key = up?.nth ?? -1;
      if (!items.has(key)) return false;
      if (!isName) types.set(key, typeAt(document, span));
      else if (names.has(`${name} ${key}`)) references.add(key);
      else names.add(`${name} ${key}`);
      if (types.get(key) === "item_reference") references.add(key);
    } else if (!isEmpty(span)) {
      const key = ofItem?.up?.nth ?? -1;
      if (items.has(key) && CONTENTS.has(ofItem?.name ?? "")) complete.add(key);
    }
    return false;
  });
  for (const [key, { isItem }] of items) {
    yield KEY_UNITS;
    if (isItem && LOOKED_UP.has(types.get(key)) && !complete.has(key)) references.add(key);
  }
  return references;
}

function isEmpty({ start, end }: Span): boolean {
  return end - start <= '""'.length;
}

function typeAt(document: BytePieces, { start, end }: Span): string {
  return end - start > TYPE_MAX_BYTES ? "" : String(JSON.parse(decoder.decode(document.slice(start, end))));
}

/** Whether the name of a form's field, such as `images[][file_id]`, has an id as its value. */
export function isObjectField(name: string): boolean {
  const [first = "", ...rest] = foldedName(name).split(/[^a-z_]+/);
  return !OWN_DATA.has(first) && [first, ...rest].some((step) => IDS.has(step));
}

/** The meaning of a form field's text as the place of a file, which must not be one of the upstream's own. */
export function placeUseOfField(name: string): PlaceUse {
  return OWN_DATA.has(stepsOf(foldedName(name))[0] ?? "") ? null : fieldPlaceUse(name);
}
