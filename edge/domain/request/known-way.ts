/**
 * What is known about the path to a string of a body that may name objects of its upstream. It is computed once for each name,
 * and for each element that is an object or a list, not for each string below.
 */
import type { Way } from "../wire/json/string-places.ts";
import { foldedName } from "./client-fields.ts";
import { type PlaceUse, placeUse } from "./file-places.ts";
import { isHolder } from "./steering-fields.ts";

/**
 * The id that vLLM and SGLang give to the answer of this request, or that a server derives it from: the id of another answer
 * would replace that answer.
 */
export const CHOSEN: ReadonlySet<string> = new Set(["request_id", "rid"]);
/** Fields whose text, or list of texts, is an id; also without underscores, as JSON of protocol buffers may write them. */
export const IDS: ReadonlyMap<string, string> = new Map(
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
/** The client's own data, with everything in it. */
export const OWN_DATA: ReadonlySet<string> = new Set(["metadata", "schema", "input_schema", "arguments"]);
/** Members of items of `input` that say which files and results an answer rests on. */
const CITED: ReadonlySet<string> = new Set(["annotations", "results"]);
/** An object with such parameters is a tool, or a call of one. */
const TOOL = /^(?:tool|function)/;
/** Data of the client's own in which a text may start like the place of a file. */
const OWN_PLACES: ReadonlySet<string> = new Set(
  "args input_examples json_schema guided_json json structured_outputs structural_tag chat_template_kwargs attributes structured_content action operation citations annotations examples properties client_metadata tool_results"
    .split(" ")
    .flatMap((name) => [name, name.replaceAll("_", "")]),
);
/** The same, unless it is in a medium. */
const DOCUMENTS = "documents";
const VARIABLES = "variables";
/** Nearly every name, which needs no folding. */
const FOLDED = /^[a-z_]{1,64}$/;

/** Known facts of a body; `readsDocuments`: its upstream may read media in its `documents`. */
export function wayOf(readsDocuments: boolean): Way<KnownWay> {
  let nth = 0;
  return {
    top: new KnownWay(null, "", nth, readsDocuments),
    below: (up, step) => {
      nth += 1;
      return new KnownWay(up, step, nth, readsDocuments);
    },
  };
}

export class KnownWay {
  /** Distinguishes it from all others of its body; the same whenever the body is read. */
  readonly nth: number;
  readonly up: KnownWay | null;
  readonly length: number;
  /** The last name, folded; an element has none. */
  readonly name: string;
  readonly isElement: boolean;
  /** The name that a string belongs to, itself or in lists. */
  readonly leaf: KnownWay;
  /** The name before that of the leaf. */
  readonly above: string;
  readonly isOwnData: boolean;
  /** In the `input` of the request. */
  readonly isInput: boolean;
  /** The member of an item of `input` that it is in; null: none. */
  readonly ofItem: KnownWay | null;
  /** In what an earlier answer cites, which comes back with it: no server looks that up. */
  readonly isCited: boolean;
  /** The `type` in it; "" if it occurs twice. */
  label: string | null = null;
  readonly #isOfRequest: boolean;
  /** Its contents belong to the request, too. */
  readonly #holds: boolean;
  readonly isInTool: boolean;
  readonly hasOwnPlaces: boolean;
  readonly hasOwnSettings: boolean;
  #use: PlaceUse | undefined;

  constructor(up: KnownWay | null, step: string | number, nth: number, readsDocuments: boolean) {
    const name = folded(step);
    this.nth = nth;
    this.up = up;
    this.length = up === null ? 0 : up.length + 1;
    this.name = name;
    this.isElement = typeof step === "number";
    this.leaf = this.isElement && up !== null ? up.leaf : this;
    this.above = this.leaf === this ? (up?.leaf.name ?? "") : this.leaf.above;
    this.isInput = this.length === 1 ? name === "input" : up?.isInput === true;
    const isMember = up?.isItem === true && !(up.length === 1 && this.isElement);
    this.ofItem = up?.ofItem ?? (isMember ? this : null);
    this.isCited = up?.isCited === true || (this.ofItem !== null && CITED.has(name));
    this.isOwnData = up !== null && (up.isOwnData || up.#makesOwn(this));
    this.#isOfRequest = up === null || up.#holds;
    this.#holds = this.#isOfRequest && (typeof step === "number" || up === null || isHolder(step));
    this.isInTool = TOOL.test(name) || up?.isInTool === true;
    const isOwn = OWN_PLACES.has(name) || (name === DOCUMENTS && this.length === 1 && !readsDocuments);
    this.hasOwnPlaces = isOwn || up?.hasOwnPlaces === true;
    this.hasOwnSettings = isOwn || name === DOCUMENTS || name === VARIABLES || up?.hasOwnSettings === true;
  }

  /** Whether it is an item of the request, not something in one. */
  get isItem(): boolean {
    return this.isInput && (this.length === 1 || (this.length === 2 && this.isElement));
  }

  /** The field that a text at this place is an id of; `input` for items, or null. */
  get field(): string | null {
    const { name, above, isOwnData, isCited } = this.leaf;
    if (name !== "id") {
      const field = IDS.get(name) ?? null;
      return field !== null && (CHOSEN.has(field) ? this.leaf.#isOfRequest : !isOwnData && !isCited) ? field : null;
    }
    if (this.isElement || isOwnData) return null;
    return OBJECTS.has(above) ? above : this.isInput ? "input" : null;
  }

  /** The meaning of a text at this place as the place of a file. */
  get use(): PlaceUse {
    const { leaf } = this;
    leaf.#use = leaf.#use === undefined ? leaf.#placeUse() : leaf.#use;
    return leaf.#use;
  }

  /** Whether the string there is a text for a model, or says where such a text comes from. */
  get isText(): boolean {
    const { name, up } = this.leaf;
    if (name === "source") return up?.label === "search_result";
    return name === "data" && up?.name === "source" && up.label === "text" && up.up?.label === "document";
  }

  #placeUse(): PlaceUse {
    if (this.isOwnData) return null;
    const use = placeUse(this.name, this.above);
    const isOwn = use === "setting" ? this.hasOwnSettings : this.hasOwnPlaces || this.up?.name === VARIABLES;
    return isOwn ? null : use;
  }

  #makesOwn({ name, isElement }: KnownWay): boolean {
    // a JSON schema has no such names; an object as `input` of an item holds the arguments of a tool
    if (this.name === "parameters") return this.isInTool && !IDS.has(name) && !OBJECTS.has(name);
    return OWN_DATA.has(this.name) || (this.name === "input" && this.length > 1 && !isElement);
  }
}

function folded(step: string | number): string {
  if (typeof step !== "string") return "";
  return FOLDED.test(step) ? step : foldedName(step);
}
