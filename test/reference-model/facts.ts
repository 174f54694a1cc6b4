/** What is planned for a call, what the upstream did for it and what the client got: the model knows nothing else of it. */

export type CallRoute =
  | "chat"
  | "completions"
  | "embeddings"
  | "responses"
  | "messages"
  | "rerank"
  | "moderations"
  | "speech"
  | "transcriptions"
  | "images"
  | "models";

/** Tokens that can have a price of their own, on either side. `written`: put into the upstream's cache. */
export interface TokenParts {
  readonly cached: number;
  readonly written: number;
  readonly audioIn: number;
  readonly imageIn: number;
  readonly reasoning: number;
  readonly audioOut: number;
  readonly imageOut: number;
}

export const NO_PARTS: TokenParts = {
  cached: 0,
  written: 0,
  audioIn: 0,
  imageIn: 0,
  reasoning: 0,
  audioOut: 0,
  imageOut: 0,
};

/** Tokens that an upstream reports. Any of them can be absurd. */
export interface Usage extends TokenParts {
  readonly input: number;
  readonly output: number;
}

/** How the upstream answers one attempt. */
export interface Attempt {
  /** 0: it resets the connection before its head. */
  readonly status: number;
  readonly delayMs: number;
  /** Pieces of content, each of {@link PIECE} characters; each is an event of a stream. */
  readonly pieces: number;
  readonly paceMs: number;
  /** Null: it reports nothing. */
  readonly usage: Usage | null;
  /** Seconds of audio that a transcription without `usage` reports. */
  readonly seconds: number;
  /** What follows the pieces; `hold`: nothing until the connection ends. Of an answer that is no stream, nothing at all. */
  readonly end: "whole" | "break" | "hold";
}

/** What the upstream did in one attempt. */
export interface Served {
  readonly atMs: number;
  readonly model: string;
  readonly plan: Attempt;
  /** Pieces that were written. */
  pieces: number;
  /** Everything that was written. */
  text: string;
  /** The connection ended before the answer was complete. */
  cutOff: boolean;
}

/** A value that admins change, and when: what was valid at a time, and what may have been while a change was under way. */
export class Versions<T> {
  readonly #versions: { readonly fromMs: number; untilMs: number; readonly value: T }[];

  constructor(value: T) {
    this.#versions = [{ fromMs: 0, untilMs: Number.POSITIVE_INFINITY, value }];
  }

  get now(): T {
    return (this.#versions.at(-1) as { readonly value: T }).value;
  }

  /** Changes it by a write: both values may count while the write is under way. */
  async change(value: T, write: () => Promise<unknown>): Promise<void> {
    const last = this.#versions.at(-1);
    this.#versions.push({ fromMs: Date.now(), untilMs: Number.POSITIVE_INFINITY, value });
    await write();
    if (last !== undefined) last.untilMs = Date.now();
  }

  /** The values that may have counted at any moment of a period. */
  during(fromMs: number, untilMs: number): readonly T[] {
    return this.#versions.filter((each) => each.fromMs <= untilMs && each.untilMs >= fromMs).map(({ value }) => value);
  }
}

export interface ModelConfig {
  readonly api_dialect: "openai" | "anthropic";
  readonly enabled: boolean;
  readonly upstream_model: string;
  readonly cache_enabled: boolean;
  readonly max_retries: number;
  readonly request_timeout_secs: number | null;
  readonly input_cost_per_token: number;
  readonly output_cost_per_token: number;
  readonly cached_input_cost_per_token: number | null;
  readonly reasoning_output_cost_per_token: number | null;
  readonly cache_write_cost_per_token: number | null;
  readonly audio_input_cost_per_token: number | null;
  readonly audio_output_cost_per_token: number | null;
  readonly image_input_cost_per_token: number | null;
  readonly image_output_cost_per_token: number | null;
  readonly cost_per_image: number;
  readonly cost_per_character: number;
  readonly input_cost_per_second: number;
}

export interface Model {
  readonly id: string;
  readonly name: string;
  readonly config: Versions<ModelConfig>;
}

export interface Budget {
  readonly tokens: number | null;
  readonly costUsd: number | null;
}

/** Limits per minute; 0: no limit. */
export interface Rates {
  readonly tokens: number;
  readonly requests: number;
}

/** Whom budgets and limits belong to: a tenant or a key. */
export interface Owner {
  readonly id: string;
  readonly kind: "tenant" | "key";
  /** Each change with the calls of the owner that had ended before it; it was changed while no call ran. */
  readonly budgets: {
    readonly atMs: number;
    readonly budget: Budget;
    readonly period: number;
    readonly startsMs: number;
  }[];
  /** The first one, and each change, made while no call of the owner ran. */
  readonly rates: { readonly atMs: number; readonly rates: Rates }[];
}

export interface TenantFacts extends Owner {
  readonly name: string;
  readonly weight: Versions<number>;
  readonly status: Versions<"active" | "suspended">;
  /** Null: every model. */
  readonly allowed: readonly string[] | null;
}

export interface Key extends Owner {
  readonly tenant: TenantFacts;
  readonly name: string;
  readonly prefix: string;
  readonly secret: string;
  readonly disabled: Versions<boolean>;
}

/** When the client leaves: once the head (and half of the body) was read, at once, or after so many pieces of the answer. */
export type Leave =
  | { readonly when: "half" | "sent" }
  | { readonly when: "after"; readonly ms: number }
  | { readonly when: "pieces"; readonly pieces: number };

export interface Call {
  /** Names it for the upstream, and in differences: `<round>/<number>`. */
  readonly id: string;
  readonly route: CallRoute;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The body's fields, of a form too; null: it is no JSON object. */
  readonly fields: Readonly<Record<string, unknown>> | null;
  readonly stream: boolean;
  /** Null: nobody is known by its credential. */
  readonly key: Key | null;
  /** Null: it names no registered model. */
  readonly model: Model | null;
  readonly script: readonly Attempt[];
  readonly leave: Leave | null;
  /** What a client says of its session in headers, and in the body. */
  readonly session: { readonly header: string; readonly body: string };
  /** What is wrong with the request itself; null: nothing. */
  readonly wrong: { readonly status: number; readonly code: string } | null;
}

/** What a client got. */
export interface Got {
  readonly startMs: number;
  endMs: number;
  /** Null: no head came. */
  status: number | null;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  text: string;
  /** Whether the whole answer came. */
  whole: boolean;
  left: boolean;
}

/** A call after its end. */
export interface Done {
  readonly call: Call;
  readonly got: Got;
  readonly served: readonly Served[];
  /** Some part was away while it ran: its connections may have failed once more than the upstream knows. */
  readonly isNearFault: boolean;
  /** A part was away so that this call may be lost, refused or cut off. */
  readonly isDisturbed: boolean;
}

export const PIECE = "wwwwwww ";

export const requestIdOf = ({ got }: Done): string => String(got.headers["x-gateway-request-id"] ?? "");
