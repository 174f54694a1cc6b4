/**
 * Detail probes: a GET whose path or body names a model (decisions §17.4). The body goes upstream as it is: the runtime
 * makes no GET with a body of its own and lets only the incoming one be passed on, so that `model` keeps the client's name.
 */
import { readJson, wholeDocument } from "../domain/json-document.ts";
import type { Call, OutgoingBody, ParsedCall } from "./context.ts";
import { MODEL_TEXT_MAX } from "./parse-call.ts";
import { readBody } from "./read-body.ts";

/** The model that the body names, or null: then the registry is asked for. Throws 413. */
export async function parseProbe(call: Call): Promise<ParsedCall | null> {
  if (call.request.body === null) return null;
  const kept = call.request.clone();
  const document = readJson(await readBody(call));
  const name = document?.root["model"];
  if (document === null || typeof name !== "string" || name.trim() === "") {
    await kept.body?.cancel();
    return null;
  }
  call.facts.modelText = document.text(name).slice(0, MODEL_TEXT_MAX);
  return { document, modelName: name, stream: false, outgoing: new PassedOn(kept) };
}

/** The model that the path names. */
export function probeOf(call: Call): ParsedCall {
  const name = decoded(call.url.pathname.slice("/v1/models/".length));
  call.facts.modelText = name.slice(0, MODEL_TEXT_MAX);
  return { document: wholeDocument({}), modelName: name, stream: false, outgoing: new PassedOn(call.request) };
}

/** The incoming request's own body, unread, or none. */
class PassedOn implements OutgoingBody {
  readonly form = false;
  readonly fault = null;
  readonly readRest = null;
  readonly clientBytes = null;
  readonly #request: Request;
  #opened = false;

  constructor(request: Request) {
    this.#request = request;
  }

  get resendable(): boolean {
    return this.#request.body === null || !this.#opened;
  }

  open(): Request | null {
    if (this.#request.body === null) return null;
    if (this.#opened) throw new Error("the body has been passed on");
    this.#opened = true;
    return this.#request;
  }

  release(): void {
    // Nothing is kept: the body is the runtime's.
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
