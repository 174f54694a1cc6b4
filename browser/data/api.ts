/**
 * The Management API as the browser reaches it: called like the generated client (its types are those of openapi-fetch), below
 * /api/live instead of /api/v1, with the session's cookie in place of a token (docs/rules/console.md#live).
 */
import type { Client } from "openapi-fetch";
import type { components, paths } from "../../control/api/client/schema.generated.ts";
import { PERSON_HEADER, personOf } from "../../shared/access/console-person.ts";
import { ApiError, errorOf } from "./api-error.ts";

/** The records of the Management API by their names in its document. */
export type Records = components["schemas"];
/** The paths of the Management API. */
export type ApiPaths = paths;

/** Where the browser finds what the document calls /api/v1. */
export function livePath(path: string): string {
  return path.replace(/^\/api\/v1(?=\/|$)/, "/api/live");
}

let signedOut = (): void => undefined;

/** Sets what is done when any answer says that nobody is signed in. */
export function whenSignedOut(act: () => void): void {
  signedOut = act;
}

/** As whom the session was read last, as in the header; null: not known yet. */
let person: string | null = null;
let personChanged = (): void => undefined;

/** Sets what is done when an answer was given to another person, role or tenant than the session names. */
export function whenPersonChanged(act: () => void): void {
  personChanged = act;
}

/** Sets as whom the session was read. */
export function expectPerson(user: Parameters<typeof personOf>[0] | null): void {
  person = user === null ? null : personOf(user);
}

function notePerson(answered: string | null): void {
  if (answered === null || person === null || answered === person) return;
  // Told once: the session is read now.
  person = null;
  personChanged();
}

/** Sends requests; those that nobody answers reject with ApiError `unreachable`. */
export async function send(request: Request): Promise<Response> {
  try {
    const response = await fetch(request);
    // a wrong password, and a wrong key that the playground passes on, are 401 too
    if (response.status === 401 && /^\/api\/(live|assistant)(\/|$)/.test(new URL(request.url).pathname)) signedOut();
    notePerson(response.headers.get(PERSON_HEADER));
    return response;
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw new ApiError(0, "unreachable", "the console's server cannot be reached");
  }
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

type Param = string | number | boolean | null | undefined;

interface CallInit {
  readonly params?: {
    readonly path?: Readonly<Record<string, Param>>;
    readonly query?: Readonly<Record<string, Param | readonly Param[]>>;
    readonly header?: Readonly<Record<string, Param>>;
  };
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

const call =
  (method: Method) =>
  async (path: string, { params = {}, body, signal }: CallInit = {}): Promise<Answered<unknown>> => {
    const step = (_: string, name: string): string => encodeURIComponent(String(params.path?.[name]));
    const url = new URL(livePath(path.replaceAll(/\{(\w+)\}/g, step)), location.origin);
    for (const [name, value] of Object.entries(params.query ?? {}))
      for (const one of [value].flat()) if (one != null) url.searchParams.append(name, String(one));
    const headers = new Headers();
    for (const [name, value] of Object.entries(params.header ?? {}))
      if (value != null) headers.set(name, String(value));
    if (body !== undefined) headers.set("content-type", "application/json");
    const request = { method, headers, signal: signal ?? null, body: body === undefined ? null : JSON.stringify(body) };
    const response = await send(new Request(url, request));
    if (!response.ok) return { error: await response.json().catch(() => null), response };
    const text = await response.text();
    return { data: text === "" ? undefined : (JSON.parse(text) as unknown), response };
  };

export const api = {
  GET: call("GET"),
  POST: call("POST"),
  PUT: call("PUT"),
  PATCH: call("PATCH"),
  DELETE: call("DELETE"),
} as Pick<Client<paths, "application/json">, Method>;

/** What a call resolves to. */
interface Answered<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** The value of an answer. Throws ApiError for a refusal. */
export function answerValue<T>({ data, error, response }: Answered<T>): T {
  if (!response.ok) throw errorOf(response, error);
  return data as T;
}
