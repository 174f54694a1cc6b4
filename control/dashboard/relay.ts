/**
 * The data plane for a browser (docs/rules/console.md#relay): chat completions, messages, the list of models, files and batches, at
 * the one address that the console is configured with, with a key that the person has pasted or with one of the console's own. Nothing of a
 * request chooses where it goes. Bytes pass as they come, both ways, and neither they nor a key are kept or logged.
 */
import { Agent, fetch } from "undici";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { GatewayError } from "../../shared/errors.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import type { Logger } from "../kernel/log.ts";
import type { ConsolePerson } from "../users/person.ts";
import type { ConsoleKeys } from "./console-keys.ts";
import { DashboardError } from "./dashboard-error.ts";
import { type OpenCalls, shareOf } from "./open-calls.ts";
import { CLIENT_GONE, passedOn } from "./passed-on.ts";

/** Every request that is passed on: its method and path below /api/relay. */
const ROUTES: readonly RegExp[] = [
  /^GET \/v1\/(models|files)$/,
  /^POST \/v1\/(chat\/completions|messages|files|batches)$/,
  /^GET \/v1\/files\/file-[0-9a-f]{32}\/content$/,
  /^POST \/v1\/batches\/batch_[0-9a-f]{32}\/cancel$/,
];

/** What is passed on of a request, and of an answer. */
const REQUEST_HEADERS = ["accept", "authorization", "content-type"];
const ANSWER_HEADERS: ReadonlySet<string> = new Set([
  "retry-after",
  "retry-after-ms",
  "x-accel-buffering",
  "x-gateway-boons",
  "x-gateway-boons-warning",
  "x-gateway-cache",
  "x-gateway-compression",
  "x-gateway-model",
  "x-gateway-overhead-ms",
  "x-gateway-request-id",
  "x-gateway-upstream-status",
  "x-should-retry",
]);

const RATE_HEADERS = "x-ratelimit-";

/** Kinds of answers that a page reads; another one, which an upstream may choose, must not be read as a page of the console. */
const ANSWER_TYPE = /^(application\/json|text\/event-stream)\s*(;|$)/i;

/** The largest body of a request; what the data plane takes unless it is configured otherwise. */
const BODY_MAX_BYTES = 32 * 1024 * 1024;
/** A file with the form around it. */
const UPLOAD_MAX_BYTES = LIMITS.fileBytes + 65_536;

type Answer = Awaited<ReturnType<typeof fetch>>;

/** What the relay needs from outside. */
interface RelayOptions {
  /** Of the data plane, without a slash at its end. */
  readonly baseUrl: string;
  /** The calls that are under way, of everything that asks models for people. */
  readonly open: OpenCalls;
  readonly keys: ConsoleKeys;
  readonly log: Logger;
}

/** Who calls, and from where. */
interface RelayCaller {
  readonly user: ConsolePerson;
  /** As which the person calls; null: with a key in the request. */
  readonly tenantId: string | null;
  readonly address: string | null;
}

export class Relay {
  readonly #options: RelayOptions;
  /** A request may wait in the queue for as long as the data plane lets it: the time limits are those of the gateway. */
  readonly #agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /**
   * The data plane's answer to a request of a person; `path` is that below /api/relay, as it stands in the address. Throws
   * GatewayError 404 for every other path or method and 413, DashboardError 429 for too many calls at the same time and 503
   * when the data plane does not answer, and what {@link ConsoleKeys.keyOf} throws for a request without a key.
   */
  async answer(request: Request, path: string, caller: RelayCaller): Promise<Response> {
    if (!ROUTES.some((route) => route.test(`${request.method} ${path}`))) throw new GatewayError("not_found");
    const onOver = this.#options.open.begin(caller.user.id, shareOf(caller.user));
    // An answer that nobody begins to read is neither read to its end nor cancelled.
    request.signal.addEventListener("abort", onOver, { once: true });
    try {
      const answer = await this.#answer(request, path, { caller, onOver });
      if (answer.body === null) onOver();
      return answer;
    } catch (error) {
      onOver();
      throw error;
    }
  }

  /** `onOver`: the body of the answer has been read, has broken off, or is not wanted any more. */
  async #answer(
    request: Request,
    path: string,
    { caller, onOver }: { readonly caller: RelayCaller; readonly onOver: () => void },
  ): Promise<Response> {
    const { method } = request;
    const maxBytes = path === "/v1/files" ? UPLOAD_MAX_BYTES : BODY_MAX_BYTES;
    const body = method === "POST" && request.body !== null ? new BoundedBody(request, maxBytes) : null;
    const headers: Record<string, string> = { "accept-encoding": "identity" };
    for (const name of REQUEST_HEADERS) {
      const value = request.headers.get(name);
      if (value !== null) headers[name] = value;
    }
    const { user, address, tenantId } = caller;
    const own = tenantId === null ? null : await this.#options.keys.keyOf(user, address, tenantId);
    if (own !== null) headers["authorization"] = `Bearer ${own.secret}`;
    const answer = await this.#send(`${this.#options.baseUrl}${path}`, { method, headers, body, request });
    if (answer === null) return new Response(null, { status: CLIENT_GONE });
    const { status } = answer;
    // What an upstream refuses is the upstream's own key.
    if (own !== null && status === 401 && !answer.headers.has("x-gateway-upstream-status")) {
      void body?.drop();
      await Promise.all([own.forget(), answer.body?.cancel()]);
      throw this.#unavailable("it does not know the console's key");
    }
    if (status < 300 || status >= 400) {
      const onEnd = (): void => void body?.drop();
      const stream =
        answer.body === null ? null : passedOn(answer.body as ReadableStream<Uint8Array>, { onEnd, onOver });
      return new Response(stream, { status, headers: shown(answer) });
    }
    // A key must not follow a redirection to wherever it leads.
    await answer.body?.cancel();
    throw this.#unavailable(`it answers ${status}, a redirection`);
  }

  /** Null: the browser has gone before there was an answer. */
  async #send(url: string, { method, headers, body, request }: Sending): Promise<Answer | null> {
    try {
      return await fetch(url, {
        method,
        headers,
        body: body?.stream ?? null,
        duplex: "half",
        redirect: "manual",
        signal: request.signal,
        dispatcher: this.#agent,
      });
    } catch (error) {
      if (body?.isTooLarge === true) throw new GatewayError("request_too_large");
      if (request.signal.aborted) return null;
      void body?.drop();
      throw this.#unavailable(rootCause(error));
    }
  }

  #unavailable(reason: string): DashboardError {
    this.#options.log.warn({ event: "data_plane_unreachable", reason });
    return new DashboardError("data_plane_unavailable", { "retry-after": "1" });
  }
}

interface Sending {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: BoundedBody | null;
  readonly request: Request;
}

/** The body of a request as it comes, which breaks off when it is larger than it may be. */
class BoundedBody {
  /** True once there was more than there may be. */
  isTooLarge = false;
  readonly stream: ReadableStream<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #leftBytes: number;

  /** Throws GatewayError 413 for a body that says that it is larger. */
  constructor({ headers, body }: Request, maxBytes: number) {
    this.#leftBytes = maxBytes;
    if (Number(headers.get("content-length") ?? 0) > maxBytes) throw new GatewayError("request_too_large");
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    this.#reader = reader;
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          this.#leftBytes -= value.byteLength;
          if (this.#leftBytes >= 0) return controller.enqueue(value);
          this.isTooLarge = true;
          controller.error(new GatewayError("request_too_large"));
        },
        // A reader that stops does not cancel the source: that would end the connection before the answer.
      },
      { highWaterMark: 0 },
    );
  }

  /**
   * Reads and drops what is left after an answer that came before the body was read: the browser's connection could not be
   * used for its next request.
   */
  async drop(): Promise<void> {
    try {
      while (this.#leftBytes >= 0) {
        const { done, value } = await this.#reader.read();
        if (done) return;
        this.#leftBytes -= value.byteLength;
      }
    } catch {
      // the browser has gone
    }
  }
}

function shown(answer: Answer): Headers {
  const headers = new Headers();
  for (const [name, value] of answer.headers)
    if (ANSWER_HEADERS.has(name) || name.startsWith(RATE_HEADERS)) headers.set(name, value);
  const type = answer.headers.get("content-type") ?? "";
  headers.set("content-type", ANSWER_TYPE.test(type) ? type : "text/plain; charset=utf-8");
  return headers;
}
