/**
 * A request whose model could not serve it moves to the next model that admits it (docs/rules/models.md#fallback-models): its
 * gates are passed again, and its slot and its reservation move to that model. No part of an answer has gone to the client by
 * then.
 */
import { GatewayError } from "../../../shared/errors.ts";
import { FALLBACK_REASONS } from "../../../shared/fields/model-fields.ts";
import { type Fallback, type FallbackReason, isContextTooLong } from "../../domain/upstream/fallback.ts";
import { isRetryable } from "../../domain/upstream/retry-plan.ts";
import { type AdmittedRequest, admit, type Reload } from "../admit/admit.ts";
import type { Call } from "../call/context.ts";
import { StageFailure } from "../call/known.ts";
import type { UpstreamAnswer } from "../forward/attempt.ts";
import { statusOf } from "../forward/forward.ts";
import { heldError } from "../forward/held-error.ts";
import { spokenCall } from "../forward/translated-call.ts";

/** The step after an answer. */
interface Moved {
  readonly next: AdmittedRequest | null;
  readonly answer: UpstreamAnswer | null;
}

export class Fallbacks {
  readonly #call: Call;
  /** Null: this request has none. */
  readonly #reload: Reload | null;
  readonly #seen = new Set<string>();
  #left: readonly Fallback[] = [];

  constructor(call: Call, reload: Reload | null) {
    this.#call = call;
    this.#reload = reload;
  }

  /** Whether another model may follow because of the body of a 400. */
  readsErrorsOf(request: AdmittedRequest): boolean {
    return this.#after(request).some(({ on }) => on.includes("context_length"));
  }

  /** The models that may follow the request's own. */
  #after(request: AdmittedRequest): readonly Fallback[] {
    const { outgoing } = request.parsed;
    const isBound = (request.objects?.upstreams.length ?? 0) > 0;
    if (this.#reload === null || isBound || outgoing.form || !outgoing.resendable) return [];
    const own = request.model.model_name;
    return [...ownOf(request), ...this.#left].filter(({ name }) => name !== own && !this.#seen.has(name));
  }

  /**
   * The request with the slot of the next model. `next` null: none admits it, it may have lost its slot, and the answer is the
   * client's. `answer` null: the model's upstreams gave none. Throws ClientGone, and what interrupts the call.
   */
  async after(request: AdmittedRequest, answer: UpstreamAnswer | null): Promise<Moved> {
    const stays = { next: null, answer };
    const left = this.#after(request);
    this.#seen.add(request.model.model_name);
    if (this.#reload === null || left.length === 0) return stays;
    const reason = answer === null ? "failure" : reasonOf(this.#call, answer);
    this.#left = left.filter(({ on }) => reason !== null && on.includes(reason));
    if (this.#left.length === 0) return stays;
    // It is passed on if no other model admits the request, which may wait for long before that.
    const memory = this.#call.memory.answerMemory.open();
    try {
      if (!memory.grow(answer?.head.byteLength ?? 0)) return stays;
      const holding = answer === null ? null : heldError(answer, memory);
      const next = await this.#move(request, this.#reload);
      if (next !== null || answer === null) return { next, answer };
      answer.cancellation.resume();
      return { next, answer: await holding };
    } finally {
      memory.close();
    }
  }

  async #move(request: AdmittedRequest, reload: Reload): Promise<AdmittedRequest | null> {
    for (const { name } of this.#left) {
      this.#seen.add(name);
      const parsed = { ...request.parsed, modelName: name };
      // The order of the candidates stands, even if the settings of the auto router have changed by now.
      const auto = request.auto && { ...request.auto, settingsRev: null };
      const asking = { ...request, parsed, auto, asked: request.asked ?? request.model };
      try {
        const candidate = await reload(asking);
        // One that cannot carry the request is passed over before the slot and the answer of the last one are given up.
        (await spokenCall(this.#call, candidate, [])).release();
        return await admit(this.#call, candidate, reload, request);
      } catch (error) {
        const { cause } = StageFailure.of(error, asking);
        if (this.#call.interruption.failure !== null) throw this.#call.interruption.failure;
        if (!(cause instanceof GatewayError)) throw cause;
        // The request has waited for as long as it may, and the Cell is the same for every model.
        if (cause.code === "scheduler_unavailable") return null;
      }
    }
    return null;
  }
}

/** The models that follow the request's own. The candidates of `auto` are in its order already. */
function ownOf({ auto, asked, model }: AdmittedRequest): readonly Fallback[] {
  if (auto !== null) return asked === null ? auto.others.map((name) => ({ name, on: FALLBACK_REASONS })) : [];
  return model.fallback_models.map((name) => ({ name, on: model.fallback_on }));
}

/** Null: the answer is one for the client. */
function reasonOf(call: Call, answer: UpstreamAnswer): FallbackReason | null {
  if (isRetryable(statusOf(call, answer))) return "failure";
  return answer.response.status === 400 && isContextTooLong(parsed(answer.head)) ? "context_length" : null;
}

function parsed(head: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(head));
  } catch {
    return undefined;
  }
}
