/**
 * Step 7: the upstream is called. One deadline covers everything from sending to the last byte of the answer; the client's
 * leaving and the deadline are one signal (design §3 law 4). Never retried after the first byte.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { ModelRecord } from "../../shared/records.ts";
import { upstreamHeaders } from "../domain/forward-headers.ts";
import { asksForUsage } from "../domain/upstream-body.ts";
import { upstreamUrl } from "../domain/upstream-url.ts";
import { type Call, ClientGone, type ParsedCall } from "./context.ts";
import type { Settler } from "./settle.ts";

/** How long an upstream that refuses the usage option is remembered (decisions §22.5). */
const OPTION_REFUSED_MS = 10 * 60 * 1000;

/** An answer whose body is still to come. */
export interface Forwarded {
  readonly response: Response;
  /** The usage event was asked for on the client's behalf and is to be withheld. */
  readonly usageAdded: boolean;
  /** When the answered attempt was sent, epoch ms. */
  readonly sentMs: number;
  readonly stop: Stop;
}

/** The end of an upstream call: client gone, or deadline. */
export class Stop {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #client: AbortSignal;
  readonly #onGone = (): void => this.#controller.abort(new ClientGone());
  #timedOut = false;

  constructor(client: AbortSignal, timeoutMs: number) {
    this.#client = client;
    this.#timer = setTimeout(() => {
      this.#timedOut = true;
      this.#controller.abort(new DOMException("upstream deadline", "TimeoutError"));
    }, timeoutMs);
    if (client.aborted) this.#onGone();
    else client.addEventListener("abort", this.#onGone, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get timedOut(): boolean {
    return this.#timedOut;
  }

  /** The client left, as the platform or a failed write has told. */
  get clientGone(): boolean {
    return this.#client.aborted;
  }

  /** Ends the upstream call. */
  abort(): void {
    this.#controller.abort(new ClientGone());
    this.release();
  }

  /** The answer is complete: nothing is left to end. */
  release(): void {
    clearTimeout(this.#timer);
    this.#client.removeEventListener("abort", this.#onGone);
  }
}

/** Calls the model's upstream. Throws 502, 504, or ClientGone. */
export async function forward(
  call: Call,
  model: ModelRecord,
  parsed: ParsedCall,
  settler: Settler,
): Promise<Forwarded> {
  const credential = await openCredential(call, model);
  if (call.request.signal.aborted) throw new ClientGone();
  const timeoutMs =
    model.request_timeout_secs === null ? call.config.upstreamTimeoutMs : model.request_timeout_secs * 1000;
  const stop = new Stop(call.request.signal, timeoutMs);
  const addUsage =
    call.route.usageOption && parsed.stream && !asksForUsage(parsed.document.root) && !optionRefused(call, model);
  const attempt = async (withUsage: boolean): Promise<Forwarded> => {
    const body = parsed.outgoing.open(model.upstream_model, withUsage);
    const sentMs = call.ports.clock();
    call.facts.upstreamCalledMs ??= sentMs;
    const response = await call.ports.upstream.fetch({
      url: upstreamUrl(
        model.api_base === "" ? call.config.upstreamBaseUrl : model.api_base,
        call.url.pathname,
        call.url.search,
      ),
      method: call.request.method,
      headers: upstreamHeaders(call.request.headers, credential),
      body,
      signal: stop.signal,
    });
    call.facts.upstreamStatus = response.status;
    return { response, usageAdded: withUsage, sentMs, stop };
  };
  settler.upstreamCalled();
  try {
    const first = await attempt(addUsage);
    if (!addUsage || first.response.status !== 400) return first;
    await first.response.body?.cancel().catch(() => undefined);
    const second = await attempt(false);
    if (second.response.ok) call.memory.usageOptionRefused.set(model.id, call.ports.clock() + OPTION_REFUSED_MS);
    return second;
  } catch (error) {
    stop.release();
    if (parsed.outgoing.fault !== null) throw parsed.outgoing.fault;
    if (error instanceof GatewayError) throw error;
    if (stop.clientGone) throw new ClientGone();
    throw new GatewayError(stop.timedOut ? "upstream_timeout" : "upstream_failed", { cause: error });
  }
}

function optionRefused(call: Call, model: ModelRecord): boolean {
  const untilMs = call.memory.usageOptionRefused.get(model.id);
  return untilMs !== undefined && call.ports.clock() < untilMs;
}

async function openCredential(call: Call, model: ModelRecord): Promise<string | null> {
  if (model.api_key === null || model.api_key === "") return null;
  try {
    return await call.ports.secrets.open(model.api_key);
  } catch (error) {
    call.ports.log.event("credential_unreadable", {
      model: model.model_name,
      reason: error instanceof Error ? error.name : "unknown",
    });
    throw new GatewayError("upstream_failed", { cause: error });
  }
}
