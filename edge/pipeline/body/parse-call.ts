/**
 * Step 3, first half: the body becomes a parsed call, within the body cap (decisions §17.2). JSON is read whole; a form is
 * read until its model is known, and its file is left to stream.
 */
import { GatewayError } from "../../../shared/errors.ts";
import { boundaryOf } from "../../domain/form/form-head.ts";
import { FormScan } from "../../domain/form/form-scan.ts";
import { sentPlaces } from "../../domain/json/cut-strings.ts";
import {
  cutJson,
  type JsonDocument,
  PARSE_WHOLE_MAX_BYTES,
  readCut,
  wholeDocument,
} from "../../domain/json/document.ts";
import { scanTopLevel } from "../../domain/json/top-level.ts";
import { isHeavyJson } from "../../domain/json/weight.ts";
import {
  decidingFields,
  inputFault,
  isJudgedName,
  numberFault,
  repeatedFault,
  spellingFault,
} from "../../domain/request/client-fields.ts";
import { cutText } from "../../domain/text/printable.ts";
import { isRewrittenName } from "../../domain/upstream/request-body.ts";
import { type Call, MODEL_TEXT_MAX, type ParsedCall } from "../call/context.ts";
import { fieldError } from "./field-error.ts";
import { FormOutgoing } from "./form-outgoing.ts";
import { FormReader } from "./form-reader.ts";
import { JsonOutgoing } from "./json-outgoing.ts";
import { NO_BODY, PassthroughBody } from "./passthrough-body.ts";
import { BodyMemoryUse, openBody, readPieces } from "./read-body.ts";

/** What a parsed body may take besides its text. */
const JSON_MAX_BYTES = 64 * 1024 * 1024;
/** A form is read this far though its model is known: small ones then tell all of their fields before they are admitted. */
const FORM_AHEAD_BYTES = 256 * 1024;

/** A JSON body that has been read, its fields not looked at. */
interface ReadCall {
  readonly document: JsonDocument;
  /** Of its top level, those that may be taken for a field that decides, as often as they are there. */
  readonly names: readonly string[];
  readonly outgoing: JsonOutgoing;
}

/** Reads and parses the body of a route that insists on a model. Throws 400 or 413. */
export async function parseCall(call: Call): Promise<ParsedCall> {
  if (call.route.form && !isJson(call.request)) return await parseForm(call);
  const read = await readCall(call);
  if (read === null) throw new GatewayError("invalid_json");
  checkSpelling(call, read.names);
  const parsed = parsedCall(read, modelOf(call, read.document));
  checkValues(call, read.document);
  return parsed;
}

/**
 * The same for a path that insists on nothing: null unless its body is a JSON object that names a model. Its fields are for
 * `check`, once its model is known to be one: throws 400. Throws 413.
 */
export async function parseOther(
  call: Call,
): Promise<{ readonly parsed: ParsedCall; readonly check: () => void } | null> {
  const { request } = call;
  if (request.body === null || isMultipart(request)) return null;
  const read = await readCall(call);
  const modelName = read === null ? null : modelNameOf(call, read.document);
  if (read === null || modelName === null) return null;
  return {
    parsed: parsedCall(read, modelName),
    check: () => {
      checkSpelling(call, read.names);
      checkValues(call, read.document);
    },
  };
}

/**
 * A GET whose body names a model; null for any other. It goes upstream as it is, so that two models in it would be judged
 * and read apart. Throws 400 or 413.
 */
export async function parseProbe(call: Call): Promise<ParsedCall | null> {
  if (call.request.body === null || isMultipart(call.request)) return null;
  const kept = call.request.clone();
  try {
    const read = await readCall(call);
    const modelName = read === null ? null : modelNameOf(call, read.document);
    if (read !== null && modelName !== null) {
      checkSpelling(call, read.names);
      if (read.names.filter((name) => name === "model").length > 1) throw fieldError(repeatedFault("model"));
      return { ...parsedCall(read, modelName), outgoing: new PassthroughBody(kept) };
    }
  } catch (error) {
    await kept.body?.cancel();
    throw error;
  }
  await kept.body?.cancel();
  return null;
}

/** A GET whose path names a model after `prefix`; what it has of a body means nothing, and stays unread. Throws 413. */
export function parseDetail(call: Call, prefix: string): ParsedCall {
  const document = wholeDocument({ model: decoded(call.path.slice(prefix.length)) });
  if (call.request.body !== null) openBody(call);
  return { document, modelName: modelOf(call, document), stream: false, outgoing: NO_BODY };
}

/** Null: the body is no JSON object. Throws 413 also for one that would take much more memory than it has bytes. */
async function readCall(call: Call): Promise<ReadCall | null> {
  const received = await readPieces(call);
  const cut = cutJson(received, call.requestId);
  if (cut === null) return null;
  // a document that lost nothing is the client's, in one
  const pieces = cut.lengths.length === 0 ? [cut.bytes] : received;
  if (cut.bytes.byteLength > PARSE_WHOLE_MAX_BYTES && isHeavyJson(cut.bytes, JSON_MAX_BYTES))
    throw new GatewayError("request_too_large");
  const document = readCut(cut, call.requestId);
  if (document === null) return null;
  const top = scanTopLevel(cut.bytes, (name) => isLookedAt(document.text(name)));
  if (top === null) return null;
  const outgoing = new JsonOutgoing(pieces, sentPlaces(cut, top));
  call.cleanups.push(() => outgoing.release());
  return { document, names: top.members.map(({ name }) => document.text(name)), outgoing };
}

function isLookedAt(name: string): boolean {
  return isJudgedName(name) || isRewrittenName(name);
}

function parsedCall({ document, outgoing }: ReadCall, modelName: string): ParsedCall {
  return { document, modelName, stream: document.root["stream"] === true, outgoing };
}

function checkSpelling(call: Call, names: readonly string[]): void {
  const fault = spellingFault(names, decidingFields(call.route));
  if (fault !== null) throw fieldError(fault);
}

function checkValues(call: Call, { root }: JsonDocument): void {
  const fault = numberFault(root) ?? inputFault(call.route, root);
  if (fault !== null) throw fieldError(fault);
}

async function parseForm(call: Call): Promise<ParsedCall> {
  const boundary = boundaryOf(call.request.headers.get("content-type"));
  const source = openBody(call);
  const room = new BodyMemoryUse(call, source);
  const intake = new FormReader(source, new FormScan(boundary ?? ""), decidingFields(call.route));
  const outgoing = new FormOutgoing(intake, () => room.release());
  call.facts.unread = outgoing;
  if (boundary === null) throw new GatewayError("invalid_multipart");
  while (intake.modelBytes === null || source.readBytes < FORM_AHEAD_BYTES) {
    if (!(await intake.more())) break;
    await room.reserveRead();
  }
  room.complete();
  const document = wholeDocument(intake.fields);
  return { document, modelName: modelOf(call, document), stream: intake.fields["stream"] === "true", outgoing };
}

function modelOf(call: Call, document: JsonDocument): string {
  const name = modelNameOf(call, document);
  if (name === null) throw new GatewayError("model_required");
  return name;
}

/** The name in `model`, noted; null when there is none. */
function modelNameOf(call: Call, document: JsonDocument): string | null {
  const name = document.root["model"];
  if (typeof name !== "string" || name.trim() === "") return null;
  const text = document.text(name);
  call.facts.modelText = cutText(text, MODEL_TEXT_MAX);
  return text;
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
