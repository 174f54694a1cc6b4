/** Random calls: what a client sends, and how the upstream answers it. */
import type { Dice } from "./dice.ts";
import type { Attempt, Call, CallRoute, Key, Leave, Model, TokenParts, Usage } from "./facts.ts";
import { CALL_HEADER } from "./upstream.ts";

const PATHS: Readonly<Record<CallRoute, string>> = {
  chat: "/v1/chat/completions",
  completions: "/v1/completions",
  embeddings: "/v1/embeddings",
  responses: "/v1/responses",
  messages: "/v1/messages",
  rerank: "/v1/rerank",
  moderations: "/v1/moderations",
  speech: "/v1/audio/speech",
  transcriptions: "/v1/audio/transcriptions",
  images: "/v1/images/generations",
  models: "/v1/models",
};
const ROUTES: readonly CallRoute[] = [
  "chat",
  "chat",
  "chat",
  "completions",
  "embeddings",
  "responses",
  "messages",
  "rerank",
  "moderations",
  "speech",
  "transcriptions",
  "images",
  "models",
];
const STREAMED: ReadonlySet<CallRoute> = new Set(["chat", "completions", "responses", "messages"]);
/** Statuses of upstreams that are final, and that are worth another attempt. 0: the connection is reset. */
const FINAL = [404, 413, 451];
const PASSING = [429, 500, 503, 0];

/** A text whose length is no multiple of four, with characters of two UTF-16 units. */
const text = (dice: Dice, mark: string): string =>
  `${mark} ${dice.pick(["", "ab", "🦜🦜", "a longer question. "]).repeat(dice.between(1, 9))}`;

/** What an upstream reports: right, nothing, far above the estimate, or absurd. */
export function randomUsage(
  dice: Dice,
  pieces: number,
  kind = dice.pick(["right", "right", "missing", "far", "absurd"]),
): Usage | null {
  const input = dice.between(3, 60);
  const output = 2 * pieces;
  const right = { input, output, ...randomParts(dice, input, output) };
  if (kind === "missing") return null;
  if (kind === "far") return { ...right, output: 5000 };
  if (kind === "absurd")
    return { ...right, ...dice.pick([{ output: 1e30 }, { input: 1e30, output: 1e30 }, { output: 5e9 }]) };
  return right;
}

/** Parts that overlap, and now and then one that cannot be a part. */
function randomParts(dice: Dice, input: number, output: number): TokenParts {
  const part = (whole: number): number =>
    dice.once(30) ? dice.pick([whole + 7, -3, 2.5, 1e30]) : dice.pick([0, 0, dice.between(0, whole)]);
  return {
    cached: part(input),
    written: part(input),
    audioIn: part(input),
    imageIn: part(input),
    reasoning: part(output),
    audioOut: part(output),
    imageOut: part(output),
  };
}

/** What a route has fields for: rerankers and moderations report no output, images neither audio nor what was thought of them. */
function usageOn(route: CallRoute, usage: Usage | null): Usage | null {
  if (usage === null) return null;
  if (TEXTLESS.has(route)) return { ...usage, output: 0, reasoning: 0, audioOut: 0, imageOut: 0 };
  return route === "images" ? { ...usage, cached: 0, audioIn: 0, reasoning: 0, audioOut: 0 } : usage;
}

/** Routes that create no text report no output. */
const TEXTLESS: ReadonlySet<CallRoute> = new Set(["rerank", "moderations"]);

export const attempt = (has: Partial<Attempt>): Attempt => ({
  status: 200,
  delayMs: 0,
  pieces: 4,
  paceMs: 0,
  usage: null,
  seconds: 0,
  end: "whole",
  ...has,
});

function randomScript(
  dice: Dice,
  route: CallRoute,
  stream: boolean,
  model: Model | null,
  delaysMs: readonly number[],
): readonly Attempt[] {
  const pieces = dice.between(1, 20);
  const usage = randomUsage(dice, pieces);
  const good = attempt({
    pieces,
    delayMs: dice.pick(delaysMs),
    paceMs: stream ? dice.pick([0, 0, 5]) : 0,
    usage: usageOn(route, usage),
    seconds: dice.pick([0.5, 7, 61.25]),
    end: stream && dice.once(8) ? "break" : "whole",
  });
  if (!stream && model !== null && model.config.now.request_timeout_secs !== null && dice.once(3))
    return [{ ...good, end: "hold" }];
  if (dice.once(9)) return [attempt({ status: dice.pick(FINAL) })];
  if (dice.once(7))
    return [
      attempt({ status: dice.pick(PASSING) }),
      ...(dice.once(2) ? [attempt({ status: dice.pick(PASSING) })] : []),
      good,
    ];
  return [good];
}

interface Session {
  readonly header: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Where a client says which session it is; some say it nowhere. */
function randomSession(dice: Dice, id: string, route: CallRoute, isInHeader: boolean): Session {
  const session = `session-${id}`;
  const canDerive = (route === "chat" || route === "messages") && !isInHeader;
  const none = { header: "", body: "", headers: {}, fields: {} };
  const places = ["x-gateway-session-id", "x-session-id", ...(isInHeader ? [] : ["session_id", "metadata", "user"])];
  const place = canDerive && dice.once(4) ? "" : dice.pick(places);
  if (place === "") return none;
  if (place.startsWith("x-")) return { ...none, header: session, headers: { [place]: session } };
  const fields = place === "metadata" ? { metadata: { session_id: session } } : { [place]: ` ${session} ` };
  return { ...none, body: session, fields };
}

function randomLimits(dice: Dice, route: CallRoute): Readonly<Record<string, unknown>> {
  if (route === "responses") return dice.pick([{}, { max_output_tokens: dice.between(0, 2000) }, { max_tokens: 1 }]);
  if (route !== "chat" && route !== "completions" && route !== "messages") return {};
  return dice.pick([
    {},
    { max_tokens: dice.between(0, 2000) },
    { max_tokens: 7, max_completion_tokens: null },
    { max_tokens: 3, max_completion_tokens: 90 },
    { n_predict: dice.pick([1, 2000]) },
  ]);
}

function fieldsOf(dice: Dice, route: CallRoute, mark: string): Readonly<Record<string, unknown>> {
  const words = text(dice, mark);
  switch (route) {
    case "completions":
      return { prompt: dice.pick([words, [words, "second"]]) };
    case "embeddings":
      return { input: dice.pick([words, [words, "b"]]) };
    case "responses":
      return { input: words, ...(dice.once(2) ? { instructions: "be brief" } : {}) };
    case "rerank":
      return { query: words, documents: ["one", "two"] };
    case "moderations":
    case "speech":
      return { input: words };
    case "images":
      return { prompt: words, ...dice.pick([{}, { n: 1 }, { n: 3 }]) };
    default: {
      const system = route === "chat" && dice.once(2) ? [{ role: "system", content: "be brief" }] : [];
      return { messages: [...system, { role: "user", content: words }] };
    }
  }
}

interface Wrong {
  readonly status: number;
  readonly code: string;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly body?: string;
  readonly path?: string;
  readonly credential?: string;
}

const WRONG: readonly Wrong[] = [
  { status: 400, code: "validation_failed", fields: { n: 0 } },
  { status: 400, code: "validation_failed", fields: { max_tokens: -1 } },
  { status: 400, code: "model_required", fields: { model: " " } },
  { status: 400, code: "invalid_json", body: '{"model":' },
  { status: 404, code: "model_not_found", fields: { model: "nobody-registered-this" } },
  { status: 404, code: "unknown_endpoint", path: "/v1/fine_tuning/jobs" },
  { status: 401, code: "missing_api_key", credential: "" },
  { status: 401, code: "invalid_api_key", credential: `sk_${"0".repeat(48)}` },
];

interface CallOptions {
  readonly route?: CallRoute;
  readonly stream?: boolean;
  readonly script?: readonly Attempt[];
  readonly leave?: Leave;
  readonly limits?: Readonly<Record<string, unknown>>;
  /** One of the bodies that are sent again and again. */
  readonly repeated?: string;
  readonly mayBeWrong?: boolean;
  /** How long the upstream may take before it answers. */
  readonly delaysMs?: readonly number[];
}

/** Calls go to a model in its own API: what a translation changes is tested elsewhere. */
function routeOf({ config }: Model, route: CallRoute): CallRoute {
  if (config.now.api_dialect === "anthropic") return "messages";
  return route === "messages" ? "chat" : route;
}

/** A call of a key to a model; what the options leave open is drawn. */
export function planCall(dice: Dice, id: string, key: Key, model: Model, options: CallOptions = {}): Call {
  const route = routeOf(model, options.route ?? dice.pick(ROUTES));
  const isRepeated = options.repeated !== undefined;
  const stream = STREAMED.has(route) && (options.stream ?? (!isRepeated && dice.once(2)));
  const wrong = options.mayBeWrong === true && route === "chat" && dice.once(4) ? dice.pick(WRONG) : undefined;
  // A client that leaves can be found by its head only, and what is sent again must be the same byte for byte.
  const isInHeader = isRepeated || options.leave !== undefined || route === "transcriptions" || route === "models";
  const session = randomSession(dice, id, route, isInHeader);
  const content = fieldsOf(isRepeated ? diceFor(dice) : dice, route, options.repeated ?? id);
  const fields: Readonly<Record<string, unknown>> = {
    model: model.name,
    ...content,
    ...(options.limits ?? (isRepeated ? {} : randomLimits(dice, route))),
    ...(stream
      ? { stream: true, ...(route === "chat" && dice.once(3) ? { stream_options: { include_usage: true } } : {}) }
      : {}),
    ...session.fields,
    ...wrong?.fields,
  };
  const isForm = route === "transcriptions";
  const isKnown = wrong?.credential === undefined;
  const secret = wrong?.credential ?? key.secret;
  const credential =
    secret === "" ? {} : dice.once(4) ? { "x-api-key": secret } : { authorization: `Bearer ${secret}` };
  const named = wrong?.fields?.["model"] === undefined && wrong?.body === undefined;
  return {
    id,
    route,
    method: route === "models" ? "GET" : "POST",
    path: wrong?.path ?? PATHS[route],
    headers: {
      ...credential,
      ...session.headers,
      ...(route === "models"
        ? {}
        : { "content-type": isForm ? `multipart/form-data; boundary=${BOUNDARY}` : "application/json" }),
      [CALL_HEADER]: id,
    },
    body:
      route === "models"
        ? Buffer.alloc(0)
        : Buffer.from(isForm ? formOf(model.name) : (wrong?.body ?? JSON.stringify(fields))),
    fields: wrong?.body === undefined ? fields : null,
    stream,
    key: isKnown ? key : null,
    model: isKnown && named ? model : null,
    script: options.script ?? randomScript(dice, route, stream, model, options.delaysMs ?? [0, 0, 20, 80]),
    leave: options.leave ?? null,
    session: wrong?.body === undefined ? session : { ...session, body: "" },
    wrong: wrong ?? null,
  };
}

/** Bodies that are sent again must not depend on what was drawn before. */
const diceFor = (dice: Dice): Dice => ({
  ...dice,
  pick: (values) => values[0] as never,
  between: (low) => low,
  once: () => false,
});

const BOUNDARY = "model-boundary";
const formOf = (model: string): string =>
  [
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="model"\r\n\r\n${model}\r\n`,
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\ncontent-type: audio/wav\r\n\r\n${"\u0001".repeat(64)}\r\n`,
    `--${BOUNDARY}--\r\n`,
  ].join("");
