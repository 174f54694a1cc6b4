/**
 * The texts of a JSON request that a tenant's input guardrails examine (docs/rules/guardrails.md#where-it-looks), each with its
 * place in the client's bytes. The texts of a route's own members are read as one; of all others every string is examined
 * separately, except in the members that no model reads (unread-members.ts). Earlier output of the model is examined only if
 * the policy says so, and output of tools is examined separately. Names are compared as any upstream may read them: in any
 * case, and up to a NUL.
 */
import type { Steps } from "../../../shared/steps.ts";
import { BytePieces, type Span } from "../wire/bytes/byte-pieces.ts";
import { type JsonPath, type StringPlace, stringAt, stringPlaces } from "../wire/json/string-places.ts";
import { grouped } from "./answer-texts.ts";
import { isDefinitionName, isDefinitionType } from "./definition-words.ts";
import { KnownPath } from "./known-path.ts";
import { ReadingOrder } from "./reading-order.ts";
import { RepeatedMembers } from "./repeated-members.ts";
import { isOfSignature, isSignatureOf, signedWith } from "./signed-thoughts.ts";
import { isOfEvery, type TextScope } from "./text-scopes.ts";
import { isIdOrBytes, isOfFile, isProtocolWord, nameOf } from "./unread-members.ts";

type Place = StringPlace<KnownPath>;

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
  /**
   * Texts beside the contents (names, thoughts, templates), then the contents in the order in which they continue one another.
   */
  readonly prompts: readonly RequestText[];
  /** The texts of `prompts` that stand beside the contents. */
  readonly beside: readonly RequestText[];
  /** Some contents are those of system messages. */
  readonly hasSystem: boolean;
  /**
   * The contents in other orders in which a model may read them: with system messages first, if they are not, and where the last of
   * equal members counts, if one is repeated.
   */
  readonly otherReadings: readonly (readonly RequestText[])[];
  /** The client's words in answer formats and tools, and every other string. Each is read separately: none continues another. */
  readonly others: readonly RequestText[];
  /** The texts of each tool's result that the client sent back. */
  readonly toolResults: readonly (readonly RequestText[])[];
  /** The body gives its model token ids or vectors, alone or among texts: their meaning cannot be examined. */
  readonly hasTokenIds: boolean;
  /** False: the body has more strings than are looked at. */
  readonly isWhole: boolean;
}

/** Members of token ids or vectors, at any place. */
const TOKENS = new Set("prompt_token_ids input_ids token_ids token_data prompt_embeds input_embeds".split(" "));
/** Members that take lists of token ids in place of texts, apart from those whose every string is examined. */
const TEXTS_OR_TOKENS = new Set("prompt input inputs texts context tokens".split(" "));

/** True for a number or string that gives a model token ids or vectors, with or without lists around it. */
function isOfTokens(scope: TextScope, known: KnownPath, isNumber: boolean): boolean {
  const { leaf, isElement } = known;
  const { rule, isOfServer, isOfMessages } = known.inherited;
  const isListed = isElement && isOfEvery(scope.get(leaf.name));
  const isMixed = isNumber && (isListed || TEXTS_OR_TOKENS.has(leaf.name));
  if (!isMixed && !TOKENS.has(leaf.name)) return false;
  if (leaf.up === null) return true;
  if (rule === "definitions" || (rule === undefined && isOfServer)) return false;
  // the arguments of a call may have such names, and an answer's limit may be called `tokens`
  if (rule === "messages" || isOfMessages) return !isMixed && !leaf.up.inherited.isCalledWith;
  return !isMixed || isElement;
}

/** Members whose text comes from the operator of an application, not from its user. */
const SYSTEM_MEMBERS = new Set(["instructions", "system"]);
/** Members that a model reads first, whatever their position in the body. */
const READ_FIRST = new Set([...SYSTEM_MEMBERS, "system_instruction", "systeminstruction", "preamble"]);
const SYSTEM_ROLES = new Set(["system", "developer"]);
const TOOL_ROLES = new Set(["tool", "function"]);
/** The members of a message that name its speaker. */
const LABELS = new Set(["role", "type"]);
/** Names of members of a message, at any depth, whose strings are text. */
const MESSAGE_TEXT = new Set(["content", "text", "output", "refusal", "thinking", "reasoning_content", "reasoning"]);
/** The names below a member that lead to text that is continued. */
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
/** How a tool is reached that is a server, which no model reads: members of an element of `tools`. */
const CONNECTION = new Set(["server_url", "authorization", "headers"]);

/** Members of an item of the model, its call of a server tool, that hold the tool's output. */
const RESULTS = new Set(["output", "outputs", "results", "error"]);

/** Strings that are looked at; honest bodies have fewer. */
const PLACES_MAX = 256 * 1024;
/** A deeper one counts as several: each place is kept with its path. */
const PLACE_STEPS = 16;
/** Work for a place that is looked at again, in units. */
const PLACE_UNITS = 8;

/** The texts of a JSON body, which is valid, in their order; `ofModel`: include earlier output of the model. */
export function* guardedTexts(pieces: readonly Uint8Array[], scope: TextScope, ofModel: boolean): Steps<GuardedTexts> {
  const body = new BytePieces(pieces);
  const unreadable = new Set<string>();
  const repeated = new RepeatedMembers();
  const signatures = new Map<KnownPath | null, Span>();
  let hasTokenIds = false;
  let hasSystem = false;
  let room = PLACES_MAX;
  let nth = 0;
  const top = new KnownPath(scope, null, "", nth);
  const way = {
    top,
    below: (up: KnownPath, step: string | number) => {
      nth += 1;
      return new KnownPath(scope, up === top ? null : up, step, nth);
    },
  };
  const isKept = (path: JsonPath, isName: boolean, known: KnownPath): boolean => {
    if (!isText(path, isName, known) && !isOther(path, isName, known)) return false;
    room -= Math.ceil(path.length / PLACE_STEPS);
    return room >= 0;
  };
  const places = yield* stringPlaces(
    pieces,
    way,
    (path, isName, span, known) => {
      if (!isName && room >= 0 && isSignatureOf(known)) {
        signatures.set(known.up, span);
        room -= 1;
      }
      const isRead = isName && room >= 0 && scope.has(nameOf(path[0])) && isContent(path, known);
      if (isRead && repeated.take(known, span.start)) room -= 1;
      if (isName || !isOfTokens(scope, known, false)) return isKept(path, isName, known);
      hasTokenIds = true;
      return false;
    },
    (path) => {
      if (!isLabel(path) || scope.get(nameOf(path[0])) !== "messages") return;
      room -= 1;
      if (room >= 0) unreadable.add(labelKey(path));
    },
    (path, known) => {
      hasTokenIds ||= isOfTokens(scope, known, true);
      return ofModel && known.inherited.isCalledWith && isKept(path, true, known);
    },
  );
  const beside: RequestText[] = [];
  const contents = new ReadingOrder<RequestText>();
  const later: RequestText[] = [];
  const lastRead = new ReadingOrder<RequestText>();
  const others: RequestText[] = [];
  const toolResults: RequestText[][] = [];
  for (const [key, message] of yield* messagesOf(places)) {
    const isDefinition = scope.get(message.member) === "definitions";
    const servers = isDefinition ? yield* serversOf(body, message.texts) : NO_SERVERS;
    const speaker =
      message.labels === null
        ? "user"
        : yield* speakerOf(body, message.labels, (name) => unreadable.has(`${key} ${name}`));
    const user = !isDefinition && (speaker === "user" || speaker === "tool") && !SYSTEM_MEMBERS.has(message.member);
    const ofMessage = speaker === "system" ? "system" : "others";
    const from = READ_FIRST.has(message.member) ? "instructions" : ofMessage;
    hasSystem ||= from === "system";
    const result: RequestText[] = [];
    for (const { path, span, isName, known } of yield* partsTogether(message.texts)) {
      yield PLACE_UNITS;
      const isTold = speaker === "model" && isElement(path) && RESULTS.has(nameOf(path[2]));
      if (speaker === "model" && !ofModel && !isTold) continue;
      if (isDefinition && isConnection(path, known) && servers.get(known.inherited.definition) === true) continue;
      const text = yield* stringAt(body, span);
      const isWord = isDefinition
        ? isName
          ? isDefinitionName(text)
          : path.at(-1) === "type" && isDefinitionType(text)
        : isProtocolWord(known.name, isName, text);
      if (isWord) continue;
      // the name of a tool says which result this is
      const isJoined = isTold ? !isName : isText(path, isName, known) && !(speaker === "tool" && isSpeakersName(path));
      if ((!isJoined || isTold) && (yield* isIdOrBytes(known.leaf.name, text))) continue;
      const signature = signatures.get(signedWith(known));
      const isSigned = signature !== undefined && (yield* isOfSignature(body, known, signature));
      const found = { text, user, span, json: known.name === "arguments", ...(isSigned ? { signature } : {}) };
      if (isDefinition || !isJoined) others.push(found);
      else if (isTold || speaker === "tool") result.push(found);
      else if (speaker === "thought" || !isContent(path, known)) beside.push(found);
      else {
        const { inFirst, inLast } = repeated.readingsOf(known, span.start);
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
  return { prompts, beside, hasSystem, otherReadings, others, toolResults, hasTokenIds, isWhole: room >= 0 };
}

type Servers = ReadonlyMap<KnownPath | null, boolean>;

const NO_SERVERS: Servers = new Map();

/** The tools of a member that are servers: those whose type says so, even if it is repeated. */
function* serversOf(body: BytePieces, places: readonly Place[]): Steps<Servers> {
  const servers = new Map<KnownPath | null, boolean>();
  for (const { span, isName, known } of places) {
    yield PLACE_UNITS;
    const { definition } = known.inherited;
    if (isName || known.steps !== 2 || known.name !== "type") continue;
    servers.set(definition, servers.get(definition) !== false && (yield* stringAt(body, span)) === "mcp");
  }
  return servers;
}

function isConnection(path: JsonPath, { inherited: { member } }: KnownPath): boolean {
  return typeof path[member.at + 1] === "number" && CONNECTION.has(nameOf(path[member.at + 2]));
}

/**
 * The places of a message, with the parts of one text one after another: a member of a part that no model reads must not come
 * between them.
 */
function* partsTogether(places: readonly Place[]): Steps<readonly Place[]> {
  if (places.length < 3) return places;
  const together: Place[] = [];
  for (const parts of yield* grouped(places, ({ known }) => known.whole))
    for (const part of parts) {
      yield PLACE_UNITS;
      together.push(part);
    }
  return together;
}

type Speaker = "user" | "system" | "tool" | "model" | "thought";

/** A unit: one message, or a member that has none. */
interface Message {
  readonly member: string;
  readonly texts: Place[];
  /** The strings that name the speaker; null: a member without messages. */
  readonly labels: Place[] | null;
}

function* messagesOf(places: readonly Place[]): Steps<ReadonlyMap<string, Message>> {
  const messages = new Map<string, Message>();
  for (const place of places) {
    yield PLACE_UNITS;
    const { rule, member: of } = place.known.inherited;
    const member = of.name;
    const inMessages = rule === "messages";
    const key = inMessages ? messageKey(place.path) : member;
    const message = messages.get(key) ?? { member, texts: [], labels: inMessages ? [] : null };
    messages.set(key, message);
    message.texts.push(place);
    if (isLabel(place.path)) message.labels?.push(place);
  }
  return messages;
}

/** A key that the strings of one message share. */
function messageKey(path: JsonPath): string {
  return `${nameOf(path[0])} ${isElement(path) ? path[1] : ""}`;
}

function labelKey(path: JsonPath): string {
  return `${messageKey(path)} ${nameOf(path[2])}`;
}

/** True for a string that a model reads next to the others: of messages and prompts. Of definitions, for all that is examined. */
function isText(path: JsonPath, isName: boolean, { inherited, steps, leaf }: KnownPath): boolean {
  const { member, rule, isCalledWith } = inherited;
  if (rule === "definitions") return steps > 0 || !isName;
  if (isName || rule !== "messages") return !isName && isOfEvery(rule);
  if (isLabel(path)) return false;
  if (isSpeakersName(path)) return true;
  return isCalledWith || leaf.name === member.name || MESSAGE_TEXT.has(leaf.name) || nameOf(path[2]) === "output";
}

/** True for a text that the next one continues, and for the name of a member that has such. */
function isContent(path: JsonPath, { inherited: { member, rule }, steps }: KnownPath): boolean {
  if ((rule !== "messages" && rule !== "all") || steps > DOCUMENT_DEPTH) return false;
  const names = path
    .slice(member.at + 1)
    .filter((step) => typeof step === "string")
    .map(nameOf);
  if (steps > CONTENT_DEPTH && names[1] !== "source") return false;
  return CONTENT.has(names.join()) || (READ_FIRST.has(member.name) && names.join() === "text");
}

/** True for a string of another place that a model may read. */
function isOther(path: JsonPath, isName: boolean, { inherited, leaf }: KnownPath): boolean {
  const { member, rule, isOfServer } = inherited;
  // the route defines the names of a message
  if (isName) return rule !== undefined && path.length > (rule === "messages" && isElement(path) ? 3 : member.at + 1);
  return !isOfFile(leaf.name) && (rule !== undefined || !isOfServer);
}

/** An element of a list of messages, or something in it. */
function isElement(path: JsonPath): boolean {
  return typeof path[1] === "number";
}

/** A string that names the speaker, or the kind of a message. */
function isLabel(path: JsonPath): boolean {
  return isElement(path) && path.length === 3 && LABELS.has(nameOf(path[2]));
}

/** The name of the speaker, which templates show to the model. */
function isSpeakersName(path: JsonPath): boolean {
  return isElement(path) && path.length === 3 && nameOf(path[2]) === "name";
}

/**
 * Who speaks in a message. An unknown role, or one that is not a string, counts as a user's. Of several roles the one that is
 * examined counts: otherwise the upstream could read another one than the gateway. `unreadable`: a label of this name is not a
 * string.
 */
function* speakerOf(body: BytePieces, labels: readonly Place[], unreadable: (name: string) => boolean): Steps<Speaker> {
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

/** The type of an item with the output of a tool. */
function isResult(type: string): boolean {
  return type.endsWith("_output");
}

const REASONING = "reasoning";

/** The type of an item with output or thoughts of the model. */
function isOfModel(type: string): boolean {
  return type === REASONING || type.endsWith("_call");
}
