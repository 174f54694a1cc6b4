/**
 * Step 3, first half: the body becomes a parsed call, within the body cap (decisions §17.2). JSON is read whole; a form is
 * read until its model is known, and its file is left to stream.
 */
import { GatewayError } from "../../shared/errors.ts";
import { boundaryOf } from "../domain/form-head.ts";
import { FormScan } from "../domain/form-scan.ts";
import { type JsonDocument, readJson, wholeDocument } from "../domain/json-document.ts";
import { ROOM_FREE_BYTES } from "./body-room.ts";
import { BodySource } from "./body-source.ts";
import type { Call, ParsedCall } from "./context.ts";
import { FormIntake } from "./form-intake.ts";
import { FormOutgoing } from "./form-outgoing.ts";
import { JsonOutgoing } from "./json-outgoing.ts";
import { PassedOn } from "./passed-on.ts";
import { readBody, takeRoom } from "./read-body.ts";

/** Text of a refused model in rows and messages, in characters. */
export const MODEL_TEXT_MAX = 200;
/** A form is read this far though its model is known: small ones then tell all of their fields before they are admitted. */
const FORM_AHEAD_BYTES = 256 * 1024;

/** Reads and parses the body of a route that insists on a model. Throws 400 or 413. */
export async function parseCall(call: Call): Promise<ParsedCall> {
  return call.route.form && !isJson(call.request) ? await parseForm(call) : await parseJson(call);
}

/** The same for a path that insists on nothing: null unless its body is a JSON object that names a model. Throws 413. */
export async function parseOther(call: Call): Promise<ParsedCall | null> {
  const { request } = call;
  if (request.body === null || isMultipart(request)) return null;
  const kept = request.method === "GET" || request.method === "HEAD" ? request.clone() : null;
  try {
    const parsed = await parseJson(call);
    return kept === null ? parsed : { ...parsed, outgoing: new PassedOn(kept) };
  } catch (error) {
    await kept?.body?.cancel();
    if (error instanceof GatewayError && error.status === 400) return null;
    throw error;
  }
}

/** A GET whose path names a model after `prefix`. */
export function parseDetail(call: Call, prefix: string): ParsedCall {
  const document = wholeDocument({ model: decoded(call.path.slice(prefix.length)) });
  return { document, modelName: modelOf(call, document), stream: false, outgoing: new PassedOn(call.request) };
}

async function parseJson(call: Call): Promise<ParsedCall> {
  const bytes = await readBody(call);
  const document = readJson(bytes);
  if (document === null) throw new GatewayError("invalid_json");
  const outgoing = new JsonOutgoing(bytes, document.root);
  call.cleanups.push(() => outgoing.release());
  return { document, modelName: modelOf(call, document), stream: document.root["stream"] === true, outgoing };
}

async function parseForm(call: Call): Promise<ParsedCall> {
  const boundary = boundaryOf(call.request.headers.get("content-type"));
  const source = new BodySource(call.request, call.config.maxBodyBytes);
  const intake = new FormIntake(source, new FormScan(boundary ?? ""));
  let giveBack: (() => void) | null = null;
  const outgoing = new FormOutgoing(intake, () => giveBack?.());
  call.cleanups.push(async () => await outgoing.drain());
  if (boundary === null) throw new GatewayError("invalid_multipart");
  while (intake.modelBytes === null || source.readBytes < FORM_AHEAD_BYTES) {
    if (!(await intake.more())) break;
    if (giveBack !== null || source.readBytes <= ROOM_FREE_BYTES || intake.modelBytes !== null) continue;
    giveBack = await takeRoom(call, source.declaredBytes ?? call.config.maxBodyBytes);
  }
  const document = wholeDocument(intake.fields);
  return { document, modelName: modelOf(call, document), stream: intake.fields["stream"] === "true", outgoing };
}

function modelOf(call: Call, document: JsonDocument): string {
  const name = document.root["model"];
  if (typeof name !== "string" || name.trim() === "") throw new GatewayError("model_required");
  const text = document.text(name);
  call.facts.modelText = text.slice(0, MODEL_TEXT_MAX);
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
