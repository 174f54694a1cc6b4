/**
 * Step 3, first half: the body becomes a parsed call, within the size limit (docs/rules/request-bodies.md#size). JSON is read
 * whole; a form is read until its model and its billed unit are known, and its file is forwarded as it arrives.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { Steps } from "../../../shared/steps.ts";
import { scanTopLevel, type TopLevel } from "../../../shared/wire/json-top-level.ts";
import { endUserLimitsOf } from "../../domain/budget/limits.ts";
import { endUserOf } from "../../domain/request/attribution.ts";
import {
  decidingFields,
  type FieldFault,
  inputFault,
  isCheckedName,
  numberFault,
  repeatedFault,
  spellingFault,
  switchFault,
} from "../../domain/request/client-fields.ts";
import { boundaryOf, isFormLikeAscii } from "../../domain/request/form/form-head.ts";
import { FormScan } from "../../domain/request/form/form-scan.ts";
import { sessionIdOf } from "../../domain/request/session-id.ts";
import { mayConcernSteering, steeringFault, steeringWithin } from "../../domain/request/steering-fields.ts";
import type { Transforms } from "../../domain/upstream/transform.ts";
import { type CutJson, sentPlaces } from "../../domain/wire/json/cut-strings.ts";
import {
  cutJson,
  type JsonDocument,
  PARSE_WHOLE_MAX_BYTES,
  readCut,
  wholeDocument,
} from "../../domain/wire/json/document.ts";
import { membersOf } from "../../domain/wire/json/repeated-names.ts";
import { weightOfJson } from "../../domain/wire/json/weight.ts";
import { isDraftMember } from "../call/boon/request-draft.ts";
import type { OutgoingBody } from "../call/client-body.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import { type Authenticated, NO_EDITS, type Parsed, type ParsedCall, StageFailure } from "../call/known.ts";
import { fieldError } from "./field-error.ts";
import { FormOutgoing } from "./form-outgoing.ts";
import { FormReader } from "./form-reader.ts";
import { JsonOutgoing } from "./json-outgoing.ts";
import { NO_BODY, PassthroughBody } from "./passthrough-body.ts";
import { openBody, openDecoded, readPieces } from "./read-body.ts";

/** Memory that a parsed body may take in addition to its text. */
const JSON_MAX_BYTES = LIMITS.jsonBodyMemory;
/**
 * A form is read this far even when its model is known, so that all fields of a small form are known before it is
 * admitted.
 */
const FORM_AHEAD_BYTES = 256 * 1024;
/** Members whose lists are read again from the body where they are needed after it is estimated. */
const DROPPED_LISTS = ["messages", "input", "prompt", "tools", "documents"];
/** Work for a field that may steer, in units. */
const STEERING_UNITS = 64;

/** The names of a body's fields, which are not checked yet. */
interface FieldNames {
  /** Names at its top level that may be taken for a field that decisions depend on, once per occurrence. */
  readonly names: readonly string[];
  /** The first field that reaches past the model, or that is there twice; null: none. */
  readonly fault: FieldFault | null;
}

interface ReadJson extends FieldNames {
  readonly document: JsonDocument;
  readonly outgoing: JsonOutgoing;
  /** Bytes of the parts that are not dropped. */
  readonly restBytes: number;
}

/** A JSON body that has been read; its fields have not been checked. */
interface ReadCall extends ReadJson {
  /** Who sent it, in the session to which it belongs. */
  readonly caller: Authenticated;
  readonly dropValues: () => void;
}

/** The parsed call of a route whose body must name a model. Throws 400 or 413. */
export async function parseCall(call: Call, caller: Authenticated): Promise<Parsed> {
  if (call.route.form && !isJson(call.request)) return await parseForm(call, caller);
  const read = await readCall(call, caller);
  if (read === null) throw new GatewayError("invalid_json");
  const parsed = checked(read.caller, () => {
    checkNames(call, read);
    return parsedOf(read, modelOf(call, read.document));
  });
  return checked(parsed, () => {
    checkValues(call, read.document);
    return parsed;
  });
}

/** A body that names a model, and the names of its fields. */
interface Unchecked extends FieldNames {
  readonly request: Parsed;
}

/**
 * The parsed call of a path whose body need not name a model: null unless the body is a JSON object that names one.
 * Throws 413.
 */
export async function parseOther(call: Call, caller: Authenticated): Promise<Unchecked | null> {
  const { request } = call;
  if (request.body === null || isMultipart(request)) return null;
  const read = await readCall(call, caller);
  const modelName = read === null ? null : modelNameOf(call, read.document);
  if (read === null || modelName === null) return null;
  return { request: parsedOf(read, modelName), names: read.names, fault: read.fault };
}

/** `request`, whose model is registered, when its fields are valid. Throws the failure of 400. */
export function checkFields<K extends Parsed>(call: Call, request: K, found: FieldNames): K {
  return checked(request, () => {
    checkNames(call, found);
    checkValues(call, request.parsed.document);
    return request;
  });
}

/**
 * A GET whose body names a model; null for any other. The body goes upstream unchanged, so with two models in it, the gateway
 * could check one and the upstream read the other. Throws 400 or 413.
 */
export async function parseProbe(call: Call, caller: Authenticated): Promise<Parsed | null> {
  if (call.request.body === null || isMultipart(call.request)) return null;
  const kept = call.body.copy();
  try {
    const read = await readCall(call, caller);
    const modelName = read === null ? null : modelNameOf(call, read.document);
    if (read !== null && modelName !== null) {
      const probe = parsedOf(read, modelName, new PassthroughBody(kept));
      return checked(probe, () => {
        checkNames(call, read);
        if (read.names.filter((name) => name === "model").length > 1) throw fieldError(repeatedFault("model"));
        return probe;
      });
    }
  } catch (error) {
    await kept.body?.cancel().catch(() => undefined);
    throw error;
  }
  await kept.body?.cancel().catch(() => undefined);
  return null;
}

/** A GET whose path names a model after `prefix`; a body has no meaning, and stays unread. Throws 413. */
export function parseDetail(call: Call, caller: Authenticated, prefix: string): Parsed {
  return parseNamed(call, caller, decoded(call.path.slice(prefix.length)));
}

/** A call whose model something else than its body names; a body stays unread. Throws 413. */
export function parseNamed(call: Call, caller: Authenticated, model: string): Parsed {
  const document = wholeDocument({ model });
  if (call.request.body !== null) openBody(call);
  const modelName = modelOf(call, document);
  return {
    ...caller,
    modelText: modelName,
    parsed: { document, modelName, stream: false, outgoing: NO_BODY, edits: NO_EDITS },
  };
}

/** Null: the body is not a JSON object. Throws 413 also for one that would take much more memory than its length. */
async function readCall(call: Call, caller: Authenticated): Promise<ReadCall | null> {
  const { pieces, memory } = await readPieces(call, caller);
  const weighed = await inTurns(call, weighedJson(pieces, call.requestId));
  if (weighed === null) return null;
  // the more values live at once, the longer the runtime stops when it collects garbage
  const isHeavy = await memory.reserveValues(Math.min(weighed.weightBytes, LIMITS.tenantBodyMemory));
  const read = await inTurns(call, readJson(weighed, call));
  if (read === null) return null;
  call.cleanups.push(() => read.outgoing.release());
  const dropValues = (): void => {
    if (!isHeavy) return;
    // the holder of the document must not keep them
    const root: Record<string, unknown> = read.document.root;
    for (const name of DROPPED_LISTS) if (typeof root[name] === "object") delete root[name];
    if (read.restBytes <= PARSE_WHOLE_MAX_BYTES) memory.keepValues(0);
  };
  return { ...read, dropValues, caller: inSession(call, caller, read.document) };
}

/** A JSON body that has not been parsed. */
interface WeighedJson {
  readonly cut: CutJson<ArrayBuffer>;
  /** The client's bytes. */
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  /** Memory for its values once it is parsed; 0 for a body that is never long. */
  readonly weightBytes: number;
}

/** Throws 413. */
function* weighedJson(received: readonly Uint8Array<ArrayBuffer>[], requestId: string): Steps<WeighedJson | null> {
  const cut = yield* cutJson(received, requestId);
  if (cut === null) return null;
  // a document from which nothing was cut is the client's body in one piece
  const pieces = cut.lengths.length === 0 ? [cut.bytes] : received;
  const isLong = cut.bytes.byteLength > PARSE_WHOLE_MAX_BYTES;
  const weightBytes = isLong ? yield* weightOfJson(cut.bytes, JSON_MAX_BYTES) : 0;
  if (weightBytes > JSON_MAX_BYTES) throw new GatewayError("request_too_large");
  return { cut, pieces, weightBytes };
}

/** The parts of a JSON body that the call needs. */
function* readJson(
  { cut, pieces }: WeighedJson,
  { requestId, config, ports: { transforms } }: Call,
): Steps<ReadJson | null> {
  const document = yield* readCut(cut, requestId);
  if (document === null) return null;
  const top = yield* scanTopLevel(cut.bytes, (name) => isLookedAt(transforms, document.text(name)));
  if (top === null) return null;
  const names = top.members.map(({ name }) => document.text(name));
  let fault: FieldFault | null = null;
  let restBytes = cut.bytes.byteLength;
  for (const [at, { value }] of top.members.entries()) {
    const name = names[at] ?? "";
    if (DROPPED_LISTS.includes(name)) restBytes -= value.end - value.start;
    if (fault !== null || !mayConcernSteering(name)) continue;
    yield STEERING_UNITS;
    const held = cut.bytes.subarray(value.start, value.end);
    const text = (inner: string): string => document.text(inner);
    const { passthroughFields } = config;
    fault = steeringFault(name, passthroughFields) ?? (yield* steeringWithin(name, held, text, passthroughFields));
  }
  fault ??= yield* repeatedName(document, cut.bytes, top);
  return { document, names, fault, restBytes, outgoing: new JsonOutgoing(pieces, sentPlaces(cut, top)) };
}

/**
 * The first name that an object has twice, because an upstream could read another one of the two than the gateway; null: none.
 * `model` may be there twice: it is replaced.
 */
function* repeatedName(document: JsonDocument, bytes: Uint8Array, top: TopLevel): Steps<FieldFault | null> {
  const models = top.members.filter(({ name }) => name === "model").length;
  const members = yield* membersOf(document.root);
  if (top.names === members + Math.max(models - 1, 0)) return null;
  const all = (yield* scanTopLevel(bytes))?.members ?? top.members;
  const seen = new Set<string>();
  for (const { name } of all) {
    if (name !== "model" && seen.has(name)) return repeatedFault(document.text(name));
    seen.add(name);
  }
  for (const { name, names } of all)
    if (names > (yield* membersOf(document.root[name]))) return repeatedFault(`${document.text(name)}.*`);
  return repeatedFault("*");
}

function isLookedAt(transforms: Transforms, name: string): boolean {
  const isChecked = isCheckedName(name) || mayConcernSteering(name);
  return isChecked || name === "model" || transforms.edits(name) || isDraftMember(name);
}

/** The caller, in the session of the request, and its end user: refusals of the read body have them too. */
function inSession(call: Call, caller: Authenticated, document: JsonDocument): Authenticated {
  const { headers } = call.request;
  const source = { headers, document, rule: call.route.estimate, tenantId: caller.principal.tenant.id };
  const session = sessionIdOf(source, call.config.sessionIdDerivation);
  return { ...caller, session, endUser: endUserOf(document) };
}

function parsedOf(
  { caller, document, outgoing, dropValues }: ReadCall,
  modelName: string,
  sent: OutgoingBody = outgoing,
): Parsed {
  const parsed: ParsedCall = {
    document,
    modelName,
    stream: document.root["stream"] === true,
    outgoing: sent,
    edits: NO_EDITS,
    dropValues,
  };
  return { ...caller, modelText: modelName, parsed };
}

/** The result of checks; their failure carries the known facts about the request. */
function checked<T>(known: Authenticated, checks: () => T): T {
  try {
    return checks();
  } catch (error) {
    throw StageFailure.of(error, known);
  }
}

function checkNames(call: Call, { names, fault }: FieldNames): void {
  const wrong = spellingFault(names, decidingFields(call.route)) ?? fault;
  if (wrong !== null) throw fieldError(wrong);
}

function checkValues(call: Call, { root }: JsonDocument): void {
  const fault = numberFault(root) ?? switchFault(call.route, root) ?? inputFault(call.route, root);
  if (fault !== null) throw fieldError(fault);
}

async function parseForm(call: Call, caller: Authenticated): Promise<Parsed> {
  const contentType = call.request.headers.get("content-type");
  const boundary = boundaryOf(contentType);
  const { source, memory } = await openDecoded(call, caller);
  const form = new FormReader(
    source,
    new FormScan(boundary ?? ""),
    decidingFields(call.route),
    call.config.passesForeignObjects,
    call.config.passthroughFields,
  );
  const outgoing = new FormOutgoing(form, memory, isFormLikeAscii(contentType));
  call.body.readBy(outgoing);
  if (boundary === null) throw new GatewayError("invalid_multipart");
  const document = wholeDocument(form.fields);
  try {
    while (form.modelBytes === null || source.readBytes < FORM_AHEAD_BYTES || mayBeDecidedLater(call, caller, form)) {
      if (!(await form.readMore())) break;
      await memory.reserveRead();
    }
    memory.complete();
    const modelName = modelOf(call, document);
    const parsed = { document, modelName, stream: form.fields["stream"] === "true", outgoing, edits: NO_EDITS };
    return { ...inSession(call, caller, document), modelText: modelName, parsed };
  } catch (error) {
    throw StageFailure.of(error, inSession(call, caller, document));
  }
}

/**
 * Whether a field may still come that decides the possible cost of the request, or the budget that pays for it: the upstream
 * must not have it before it is reserved (docs/rules/budgets.md#reserved-cost, docs/rules/budgets.md#end-users).
 */
function mayBeDecidedLater({ route }: Call, { principal }: Authenticated, { fields }: FormReader): boolean {
  if (route.billedBy === "images" && fields["n"] === undefined) return true;
  return endUserLimitsOf("somebody", principal.tenant) !== null && endUserOf(wholeDocument(fields)) === "";
}

function modelOf(call: Call, document: JsonDocument): string {
  const name = modelNameOf(call, document);
  if (name === null) throw new GatewayError("model_required");
  return name;
}

/**
 * The name in the path, in `model`, or of the route's default model; null if there is none. A form, or a document without
 * members, has no place to add a missing name.
 */
function modelNameOf({ deployment, route, config }: Call, document: JsonDocument): string | null {
  const { root } = document;
  const name = root["model"];
  const named = typeof name === "string" && name.trim() !== "" ? document.text(name) : null;
  if (Object.keys(root).length === 0 || (route.form && named === null)) return null;
  if (deployment !== null) return deployment;
  const isModeration = route.requestType === "moderation" && name === undefined && config.moderationModel !== "";
  return isModeration ? config.moderationModel : named;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function isJson(request: Request): boolean {
  return /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(request.headers.get("content-type") ?? "");
}

function isMultipart(request: Request): boolean {
  return /^multipart\//i.test(request.headers.get("content-type") ?? "");
}
