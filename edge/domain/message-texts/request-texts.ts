/**
 * The texts of a JSON request that a tenant's input guardrails examine (docs/rules/guardrails.md#where-it-looks), each
 * with its place in the client's bytes. The texts of a route's own members are read as one; of all others every string is
 * examined separately, except in the members that no model reads (unread-members.ts). What the model itself said earlier is
 * examined only if the policy says so, and what a tool said is examined on its own. Names are compared as any upstream may
 * read them: in any case, and up to a NUL.
 */
import type { Steps } from "../../../shared/steps.ts";
import { BytePieces, type Span } from "../wire/bytes/byte-pieces.ts";
import { type JsonPath, pathUnitsOf, type StringPlace, stringAt, stringPlaces } from "../wire/json/string-places.ts";
import { grouped, wholeOf } from "./answer-texts.ts";
import { isDefinitionName, isDefinitionType } from "./definition-words.ts";
import { ReadingOrder } from "./reading-order.ts";
import { RepeatedMembers } from "./repeated-members.ts";
import { isOfSignature, isSignatureOf, signedWith } from "./signed-thoughts.ts";
import { isOfEvery, memberOf, type TextScope } from "./text-scopes.ts";
import { isIdOrBytes, isOfFile, isOfServer, isProtocolWord, leafOf, nameOf } from "./unread-members.ts";

/** A text of a request; the span is that of its JSON string in the client's bytes, quotes included. */
export interface RequestText {
  readonly text: string;
  /** The text of a user, not of a system or developer message, nor of the model. */
  readonly user: boolean;
  /** JSON inside a string: the arguments of a tool call. */
  readonly json?: boolean;
  readonly span: Span;
  /** The signature of this thought, which would not fit another text. */
  readonly signature?: Span;
}

/** The texts of a request. */
export interface GuardedTexts {
  /** What stands beside the contents (names, thoughts, templates), then the contents as they continue one another. */
  readonly prompts: readonly RequestText[];
  /**
   * The contents in other orders in which a model may read them: with system messages first, if they are not, and where the last of
   * equal members counts, if one is repeated.
   */
  readonly otherReadings: readonly (readonly RequestText[])[];
  /** The client's words in answer formats and tools, and every other string. Each is read separately: none continues another. */
  readonly others: readonly RequestText[];
  /** The texts of each tool's result that the client sent back. */
  readonly toolResults: readonly (readonly RequestText[])[];
  /** The body gives its model token ids or vectors, alone or among texts: what they say cannot be examined. */
  readonly hasTokenIds: boolean;
  /** False: the body has more strings than are looked at. */
  readonly isWhole: boolean;
}

/** Members of token ids or vectors, wherever they stand. */
const TOKENS = new Set("prompt_token_ids input_ids token_ids token_data prompt_embeds input_embeds".split(" "));
/** Members that take lists of token ids in place of texts, apart from those whose every string is examined. */
const TEXTS_OR_TOKENS = new Set("prompt input inputs texts context tokens".split(" "));

/** True for a number or string that gives a model token ids or vectors, with or without lists around it. */
function isOfTokens(scope: TextScope, path: JsonPath, isNumber: boolean): boolean {
  const at = path.findLastIndex((step) => typeof step === "string");
  const name = nameOf(path[at]);
  const isListed = at < path.length - 1 && isOfEvery(scope.get(name));
  const isMixed = isNumber && (isListed || TEXTS_OR_TOKENS.has(name));
  if (!isMixed && !TOKENS.has(name)) return false;
  if (at === 0) return true;
  const rule = scope.get(memberOf(scope, path).name);
  if (rule === "definitions" || (rule === undefined && isOfServer(path))) return false;
  // the arguments of a call may have such names, and an answer's limit may be called `tokens`
  if (rule === "messages" || path.some((step) => nameOf(step) === "messages"))
    return !isMixed && !isCalledWith(path.slice(0, at));
  return !isMixed || at < path.length - 1;
}

/** Members whose text comes from the operator of an application, not from its user. */
const SYSTEM_MEMBERS = new Set(["instructions", "system"]);
/** Members that a model reads first, wherever they stand in the body. */
const READ_FIRST = new Set([...SYSTEM_MEMBERS, "system_instruction", "systeminstruction", "preamble"]);
const SYSTEM_ROLES = new Set(["system", "developer"]);
const TOOL_ROLES = new Set(["tool", "function"]);
/** The members of a message that say who speaks. */
const LABELS = new Set(["role", "type"]);
/** Names of members of a message, at any depth, whose strings are text. */
const MESSAGE_TEXT = new Set(["content", "text", "output", "refusal", "thinking", "reasoning_content", "reasoning"]);
/** The names below a member that lead to what is continued. */
const CONTENT = new Set([
  "",
  "content",
  "content,text",
  "content,refusal",
  "content,source",
  "content,source,data",
  "content,source,content",
  "content,source,content,text",
]);
/** Steps from a member to its contents, and to those of a document in a message. */
const CONTENT_DEPTH = 4;
const DOCUMENT_DEPTH = 7;
/** Members of a part that are read as its text. */
const TEXT_OF_PART = new Set(["refusal", "source"]);
/** Members of a message, or of its parts, whose strings at any depth are what a model asked a tool for. */
const CALLED_WITH = new Set(["arguments", "input", "action", "code", "operation"]);
/** How a tool is reached that is a server, which no model reads: members of an element of `tools`. */
const CONNECTION = new Set(["server_url", "authorization", "headers"]);

/** Members of an item of the model, its call of a tool of the server, with what the tool said. */
const RESULTS = new Set(["output", "outputs", "results", "error"]);

/** Strings that are looked at; honest bodies have fewer. */
const PLACES_MAX = 256 * 1024;
/** A deeper one counts as several: each place is kept with its path. */
const PLACE_STEPS = 16;
/** A longer key, in characters, counts as several places, too: its names may be longer as JSON than they came. */
const KEY_CHARACTERS = 64;
/** Work for a place that is looked at again, in units. */
const PLACE_UNITS = 8;

/** The texts of a JSON body, which is valid, in the order in which they stand; `ofModel`: also what the model said earlier. */
export function* guardedTexts(pieces: readonly Uint8Array[], scope: TextScope, ofModel: boolean): Steps<GuardedTexts> {
  const body = new BytePieces(pieces);
  const unreadable = new Set<string>();
  const repeated = new RepeatedMembers();
  const signatures = new Map<string, Span>();
  let hasTokenIds = false;
  let room = PLACES_MAX;
  const isKept = (path: JsonPath, isName: boolean): boolean => {
    if (!isText(scope, path, isName) && !isOther(scope, path, isName)) return false;
    room -= Math.ceil(path.length / PLACE_STEPS);
    return room >= 0;
  };
  const places = yield* stringPlaces(
    pieces,
    (path, isName, span) => {
      const { start } = span;
      if (!isName && room > 0 && isSignatureOf(scope, path)) {
        const key = JSON.stringify(path.slice(0, -1));
        signatures.set(key, span);
        room -= Math.ceil(key.length / KEY_CHARACTERS);
      }
      const isRead = isName && room > 0 && scope.has(nameOf(path[0])) && isContent(scope, path);
      if (isRead && repeated.take(path, start)) room -= 1;
      if (isName || !isOfTokens(scope, path, false)) return isKept(path, isName);
      hasTokenIds = true;
      return false;
    },
    (path) => {
      if (!isLabel(path) || scope.get(nameOf(path[0])) !== "messages") return;
      room -= 1;
      if (room >= 0) unreadable.add(labelKey(path));
    },
    (path) => {
      hasTokenIds ||= isOfTokens(scope, path, true);
      return ofModel && isCalledWith(path) && isKept(path, true);
    },
  );
  const hasKeyRoom = (characters: number): boolean => {
    room -= Math.floor(characters / KEY_CHARACTERS);
    return room >= 0;
  };
  const beside: RequestText[] = [];
  const contents = new ReadingOrder<RequestText>();
  const later: RequestText[] = [];
  const lastRead = new ReadingOrder<RequestText>();
  const others: RequestText[] = [];
  const toolResults: RequestText[][] = [];
  for (const [key, message] of yield* messagesOf(scope, places)) {
    const isDefinition = scope.get(message.member) === "definitions";
    const servers = isDefinition ? yield* serversOf(body, scope, message.texts) : NO_SERVERS;
    const speaker =
      message.labels === null
        ? "user"
        : yield* speakerOf(body, message.labels, (name) => unreadable.has(`${key} ${name}`));
    const user = !isDefinition && (speaker === "user" || speaker === "tool") && !SYSTEM_MEMBERS.has(message.member);
    const ofMessage = speaker === "system" ? "system" : "others";
    const from = READ_FIRST.has(message.member) ? "instructions" : ofMessage;
    const result: RequestText[] = [];
    for (const { path, span, isName } of yield* partsTogether(message.texts, hasKeyRoom)) {
      yield PLACE_UNITS + pathUnitsOf(path);
      const isTold = speaker === "model" && isElement(path) && RESULTS.has(nameOf(path[2]));
      if (speaker === "model" && !ofModel && !isTold) continue;
      if (isDefinition && isConnection(scope, path) && servers.get(elementKey(scope, path)) === true) continue;
      const text = yield* stringAt(body, span);
      const isWord = isDefinition
        ? isName
          ? isDefinitionName(text)
          : path.at(-1) === "type" && isDefinitionType(text)
        : isProtocolWord(path, isName, text);
      if (isWord) continue;
      // the name of a tool says which result this is
      const isJoined = isTold ? !isName : isText(scope, path, isName) && !(speaker === "tool" && isSpeakersName(path));
      if ((!isJoined || isTold) && (yield* isIdOrBytes(path, text))) continue;
      const signature = signatures.size === 0 ? undefined : signatures.get(JSON.stringify(signedWith(path)));
      const isSigned = signature !== undefined && (yield* isOfSignature(body, path, signature));
      const found = { text, user, span, json: nameOf(path.at(-1)) === "arguments", ...(isSigned ? { signature } : {}) };
      if (isDefinition || !isJoined) others.push(found);
      else if (isTold || speaker === "tool") result.push(found);
      else if (speaker === "thought" || !isContent(scope, path)) beside.push(found);
      else {
        const { inFirst, inLast } = repeated.readingsOf(path, span.start);
        if (inFirst) contents.add(found, from);
        else later.push(found);
        if (inLast && !repeated.isEmpty) lastRead.add(found, from);
      }
    }
    if (result.length > 0 || speaker === "tool") toolResults.push(result);
  }
  const prompts = [...beside, ...contents.asGiven, ...later];
  const readings = [contents.systemFirst, lastRead.asGiven, lastRead.systemFirst];
  const otherReadings = readings.filter(({ length }) => length > 0);
  return { prompts, otherReadings, others, toolResults, hasTokenIds, isWhole: room >= 0 };
}

const NO_SERVERS: ReadonlyMap<string, boolean> = new Map();

/** The tools of a member that are servers: those whose type says so, however often it is given. */
function* serversOf(
  body: BytePieces,
  scope: TextScope,
  places: readonly StringPlace[],
): Steps<ReadonlyMap<string, boolean>> {
  const servers = new Map<string, boolean>();
  for (const { path, span, isName } of places) {
    yield PLACE_UNITS;
    const { at } = memberOf(scope, path);
    if (isName || path.length !== at + 3 || nameOf(path[at + 2]) !== "type") continue;
    const key = elementKey(scope, path);
    servers.set(key, servers.get(key) !== false && (yield* stringAt(body, span)) === "mcp");
  }
  return servers;
}

/** What the strings of one element of a list of definitions have in common. */
function elementKey(scope: TextScope, path: JsonPath): string {
  return JSON.stringify(path.slice(0, memberOf(scope, path).at + 2));
}

function isConnection(scope: TextScope, path: JsonPath): boolean {
  const { at } = memberOf(scope, path);
  return typeof path[at + 1] === "number" && CONNECTION.has(nameOf(path[at + 2]));
}

/**
 * The places of a message, with the parts of one text behind one another: a member of a part that no model reads must not come
 * between them.
 */
function* partsTogether(
  places: readonly StringPlace[],
  room: (characters: number) => boolean,
): Steps<readonly StringPlace[]> {
  if (places.length < 3) return places;
  const together: StringPlace[] = [];
  const keyOf = ({ path }: StringPlace): string | null => (path.length > PLACE_STEPS ? null : wholeOf(inPart(path)));
  for (const parts of yield* grouped(places, keyOf, room))
    for (const part of parts) {
      yield PLACE_UNITS;
      together.push(part);
    }
  return together;
}

/** Where a part has its text: a refusal and a document are read like one. */
function inPart(path: JsonPath): JsonPath {
  const at = path.findIndex((step, nth) => typeof path[nth - 1] === "number" && TEXT_OF_PART.has(nameOf(step)));
  return at === -1 ? path : [...path.slice(0, at), "text"];
}

type Speaker = "user" | "system" | "tool" | "model" | "thought";

/** What belongs together: one message, or a member that has none. */
interface Message {
  readonly member: string;
  readonly texts: StringPlace[];
  /** The strings that say who speaks; null: a member without messages. */
  readonly labels: StringPlace[] | null;
}

function* messagesOf(scope: TextScope, places: readonly StringPlace[]): Steps<ReadonlyMap<string, Message>> {
  const messages = new Map<string, Message>();
  for (const place of places) {
    yield PLACE_UNITS;
    const member = memberOf(scope, place.path).name;
    const inMessages = scope.get(member) === "messages";
    const key = inMessages ? messageKey(place.path) : member;
    const message = messages.get(key) ?? { member, texts: [], labels: inMessages ? [] : null };
    messages.set(key, message);
    message.texts.push(place);
    if (isLabel(place.path)) message.labels?.push(place);
  }
  return messages;
}

/** What the strings of one message have in common. */
function messageKey(path: JsonPath): string {
  return `${nameOf(path[0])} ${isElement(path) ? path[1] : ""}`;
}

function labelKey(path: JsonPath): string {
  return `${messageKey(path)} ${nameOf(path[2])}`;
}

/** True for a string that a model reads next to the others: of messages and prompts. Of definitions, for all that is examined. */
function isText(scope: TextScope, path: JsonPath, isName: boolean): boolean {
  const { name: member, at } = memberOf(scope, path);
  const rule = scope.get(member);
  if (rule === "definitions") return path.length > at + 1 || !isName;
  if (isName || rule !== "messages") return !isName && isOfEvery(rule);
  if (isLabel(path)) return false;
  if (isSpeakersName(path)) return true;
  const inner = leafOf(path);
  if (inner === member || MESSAGE_TEXT.has(inner) || nameOf(path[2]) === "output") return true;
  return isCalledWith(path);
}

/** True for a text that the next one continues, and for the name of a member that has such. */
function isContent(scope: TextScope, path: JsonPath): boolean {
  const { name, at } = memberOf(scope, path);
  const rule = scope.get(name);
  const depth = path.length - at - 1;
  if ((rule !== "messages" && rule !== "all") || depth > DOCUMENT_DEPTH) return false;
  const names = path
    .slice(at + 1)
    .filter((step) => typeof step === "string")
    .map(nameOf);
  if (depth > CONTENT_DEPTH && names[1] !== "source") return false;
  return CONTENT.has(names.join()) || (READ_FIRST.has(name) && names.join() === "text");
}

/** True for a string of another place that a model may read. */
function isOther(scope: TextScope, path: JsonPath, isName: boolean): boolean {
  const { name: member, at } = memberOf(scope, path);
  const rule = scope.get(member);
  // the names of a message are those of the route
  if (isName) return rule !== undefined && path.length > (rule === "messages" && isElement(path) ? 3 : at + 1);
  return !isOfFile(path) && (rule !== undefined || !isOfServer(path));
}

function isCalledWith(path: JsonPath): boolean {
  return path.some((step, at) => at > 1 && CALLED_WITH.has(nameOf(step)));
}

/** An element of a list of messages, or something in it. */
function isElement(path: JsonPath): boolean {
  return typeof path[1] === "number";
}

/** A string that says who speaks, or what kind of message it is. */
function isLabel(path: JsonPath): boolean {
  return isElement(path) && path.length === 3 && LABELS.has(nameOf(path[2]));
}

/** The name of who speaks, which templates show to the model. */
function isSpeakersName(path: JsonPath): boolean {
  return isElement(path) && path.length === 3 && nameOf(path[2]) === "name";
}

/**
 * Who speaks in a message. A role that is not known, or no string, counts as a user's, and of several roles the one that is
 * examined: otherwise the upstream could read another one than the gateway. `unreadable`: a label of this name is no string.
 */
function* speakerOf(
  body: BytePieces,
  labels: readonly StringPlace[],
  unreadable: (name: string) => boolean,
): Steps<Speaker> {
  if (unreadable("role")) return "user";
  const [roles, types]: [string[], string[]] = [[], []];
  for (const { path, span } of labels) {
    yield PLACE_UNITS;
    (nameOf(path[2]) === "role" ? roles : types).push(yield* stringAt(body, span));
  }
  const others = roles.filter((role) => role !== "assistant" && !TOOL_ROLES.has(role));
  if (others.length > 0) return others.every((role) => SYSTEM_ROLES.has(role)) ? "system" : "user";
  const isTold = roles.some((role) => TOOL_ROLES.has(role)) || types.some(isResult);
  if (roles.length === 0) {
    if (unreadable("type") || types.length === 0) return "user";
    if (!types.every((type) => isResult(type) || isOfModel(type))) return "user";
  }
  if (isTold) return "tool";
  // a client can write any text into an item that passes for the model's thoughts
  return types.includes(REASONING) ? "thought" : "model";
}

/** The type of an item that is what a tool said. */
function isResult(type: string): boolean {
  return type.endsWith("_output");
}

const REASONING = "reasoning";

/** The type of an item that is what the model said or thought. */
function isOfModel(type: string): boolean {
  return type === REASONING || type.endsWith("_call");
}
