/**
 * The bill of a finished request: tokens and cost of its row, and the correction of the scheduler
 * (docs/rules/settlement-and-rows.md#tokens-owed, docs/rules/settlement-and-rows.md#cost,
 * docs/rules/settlement-and-rows.md#clients-that-leave, docs/rules/settlement-and-rows.md#what-was-seen). Only a 2xx of the
 * upstream costs anything, also if the client left while it was being sent. A request is never billed an implausible report of
 * an upstream (docs/rules/settlement-and-rows.md#reports-that-are-not-believed).
 */
import { AMOUNT_MAX, saturated } from "../../../shared/money/amount.ts";
import { costUsd, dearestPrices, hasTokenPrice, type Measure } from "../../../shared/money/cost.ts";
import type { ModelRecord } from "../../../shared/records.ts";
import { nanoUsdOf, usdOf } from "../budget/amounts.ts";
import type { TokenEstimate } from "../request/token-estimate.ts";
import { NO_PARTS, type UsageParts } from "./reported-counts.ts";
import { type SeenUsage, UsageScan } from "./usage-scan.ts";

type Tokens = Pick<Billed, "inputTokens" | "outputTokens">;

/** Tokens and their cost. */
export interface BilledTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

/** No part exceeds its whole, the input or the output. */
export type Billed = UsageParts & BilledTokens;

export const NOTHING_BILLED: Billed = {
  ...NO_PARTS,
  inputTokens: 0,
  outputTokens: 0,
  costUsd: 0,
};

/** The received part of an answer. */
export interface BilledAnswer {
  readonly usage: SeenUsage;
  /** It ended as its upstream ended it. */
  readonly complete: boolean;
  /** It came as a stream of events. */
  readonly stream: boolean;
}

/** A stream that its client left before anything of it came. */
export const UNSEEN_STREAM: BilledAnswer = {
  usage: new UsageScan({ content: false }).usage(),
  complete: false,
  stream: true,
};

/** If the amount made is not visible, all of it may have been made when the client leaves: at most this output is owed for it. */
const LEFT_OUTPUT_MAX = 2048;

/**
 * Tokens and cost at the model's current prices; `answered` is null when the upstream never answered. The reported tokens
 * count when the answer was complete, or had shown its end together with its report before the connection broke; never less
 * than what was seen since the report. Of a stream that ended early only what was reported or seen counts, because its upstream
 * stops when its reader leaves, unless the model does not show its reasoning. Otherwise the estimate counts, and never less than what was reported or seen so far, for input and
 * output alike. A complete answer without a byte is billed for its input alone, and so is every answer of a route that creates
 * no text. A report that cannot be true counts as none.
 */
export function bill(
  model: Pick<ModelRecord, "prices" | "hidden_reasoning">,
  estimate: TokenEstimate,
  measure: Measure,
  given: BilledAnswer | null,
): Billed {
  if (measure.kind === "free") return NOTHING_BILLED;
  const answered = unbelievedCount(estimate, measure, given) === null ? given : withoutReport(given);
  const inputTokens = inputOf(estimate, measure, answered);
  const outputTokens = Math.min(outputOf(model, estimate, measure, answered), AMOUNT_MAX - inputTokens);
  const used = { inputTokens, outputTokens, ...reportedParts({ inputTokens, outputTokens }, measure, answered) };
  const cost = costUsd(model.prices, pricedBy(model, measure, answered), used);
  const owed =
    cost === 0 && isUnknown(measure, answered === given ? given : null)
      ? unreportedCostUsd(model, measure, used)
      : cost;
  return { ...used, costUsd: owed };
}

/** Images and transcriptions are priced by the tokens that are reported for them, if a token has a price. */
function pricedBy({ prices }: Pick<ModelRecord, "prices">, measure: Measure, answered: BilledAnswer | null): Measure {
  if (measure.kind !== "images" && measure.kind !== "seconds") return measure;
  if (measure.kind === "images" && isEmpty(answered)) return { kind: "free" };
  return hasTokens(answered) && hasTokenPrice(prices) ? { kind: "tokens" } : measure;
}

/** How much was used is not known: nothing that can be true was reported of audio, or of an image that was left. */
function isUnknown(measure: Measure, answered: BilledAnswer | null): boolean {
  if (hasTokens(answered)) return false;
  if (measure.kind === "seconds") return (answered?.usage.parts.inputSeconds ?? 0) === 0;
  return measure.kind === "images" && answered?.complete !== true;
}

function hasTokens(answered: BilledAnswer | null): boolean {
  const reported = answered?.usage.reported;
  return (reported?.inputTokens ?? reported?.outputTokens ?? null) !== null;
}

/** The amount owed without a report where only tokens have a price: the reservation, never less than the seen part. */
function unreportedCostUsd(
  { prices }: Pick<ModelRecord, "prices">,
  measure: Measure,
  used: UsageParts & Tokens,
): number {
  return Math.max(mediaCostUsd(prices, measure), costUsd(prices, { kind: "tokens" }, used));
}

/** No request uses more tokens. */
const BELIEVED_MAX = 2 ** 31;
/** No request uses more than this many times its estimate, or the bytes of its answer, whichever is larger. */
const BELIEVED_TIMES = 1_000;

/** The largest implausible count of a report, in tokens or seconds; null: it is plausible, or there is none. */
export function unbelievedCount(
  { totalTokens: estimated }: Pick<TokenEstimate, "totalTokens">,
  measure: Measure,
  answered: BilledAnswer | null,
): number | null {
  if (answered === null) return null;
  const { reported, parts, bytes } = answered.usage;
  const sum = saturated((reported?.inputTokens ?? 0) + (reported?.outputTokens ?? 0));
  const total = Math.max(sum, reported?.totalTokens ?? 0);
  const seconds = measure.kind === "seconds" ? parts.inputSeconds : 0;
  const largest = Math.max(total, seconds, ...Object.values({ ...parts, inputSeconds: 0 }));
  return largest > Math.min(BELIEVED_MAX, BELIEVED_TIMES * Math.max(estimated, bytes)) ? largest : null;
}

/** An answer that reports nothing. */
function withoutReport(answered: BilledAnswer | null): BilledAnswer | null {
  if (answered === null) return null;
  const unreported = { reported: null, outputReported: false, upToDate: false, final: false };
  return { ...answered, usage: { ...answered.usage, ...unreported, parts: NO_PARTS } };
}

/**
 * Seconds of audio that are reserved before its length is known, and owed when it is never reported: upstreams report it only
 * after reading the audio, and not for every format.
 */
const RESERVED_SECONDS = 60;

/** Tokens that are reserved for an image, and as much for the images that it is made from: the most of GPT Image 1. */
const RESERVED_IMAGE_TOKENS = 6240;
/** Tokens that are reserved for the audio of {@link RESERVED_SECONDS}, and as many for its text. */
const RESERVED_AUDIO_TOKENS = 1000;

/** The cost reserved for images and for audio that are billed by tokens, at the highest prices. */
function mediaCostUsd(prices: ModelRecord["prices"], measure: Measure): number {
  if (measure.kind !== "images" && measure.kind !== "seconds") return 0;
  const [each, count] =
    measure.kind === "images" ? [RESERVED_IMAGE_TOKENS, Math.max(measure.count, 1)] : [RESERVED_AUDIO_TOKENS, 1];
  const used = { ...NO_PARTS, inputTokens: each, outputTokens: each * count };
  return costUsd(dearestPrices(prices), { kind: "tokens" }, used);
}

/**
 * The cost that term budgets reserve for a request: its estimate at the highest prices, because the parts of its tokens are not
 * known yet, nor whether images and audio will be billed by tokens (docs/rules/budgets.md#reserved-cost).
 */
export function reservedCostUsd(
  model: Pick<ModelRecord, "prices">,
  { inputTokens, outputTokens }: Pick<TokenEstimate, "inputTokens" | "outputTokens">,
  measure: Measure,
): number {
  const used = { ...NO_PARTS, inputTokens, outputTokens, inputSeconds: RESERVED_SECONDS };
  return Math.max(costUsd(dearestPrices(model.prices), measure, used), mediaCostUsd(model.prices, measure));
}

/**
 * The reported parts of the billed amounts (docs/rules/settlement-and-rows.md#parts-of-tokens). Seconds count where audio is
 * read; elsewhere a `duration` of an answer is about something else.
 */
function reportedParts(whole: Tokens, measure: Measure, answered: BilledAnswer | null): UsageParts {
  const parts = answered?.usage.parts ?? NO_PARTS;
  const { imageOutputTokens, inputSeconds } = parts;
  // Upstreams may leave out the parts of an image's output: then all of it is the image.
  const isImage = measure.kind === "images" && imageOutputTokens === 0;
  const isReported = inputSeconds > 0 || (answered !== null && answered.usage.reported !== null);
  return partsWithin(whole, {
    ...parts,
    imageOutputTokens: isImage ? whole.outputTokens : imageOutputTokens,
    inputSeconds: measure.kind !== "seconds" ? 0 : isReported ? inputSeconds : RESERVED_SECONDS,
  });
}

/**
 * The amount owed for an answer beyond its charge at the plain prices: less input never makes up for more output
 * (docs/rules/settlement-and-rows.md#answers-made-in-the-background).
 */
export function beyondCharged(
  { prices }: Pick<ModelRecord, "prices">,
  used: UsageParts & Tokens,
  charged: Tokens,
): BilledTokens {
  const nanoUsd = (side: object): number => {
    const cost = (tokens: UsageParts & Tokens): number =>
      nanoUsdOf(costUsd(prices, { kind: "tokens" }, { ...tokens, ...side }));
    return Math.max(0, cost(used) - cost({ ...NO_PARTS, ...charged }));
  };
  return {
    inputTokens: Math.max(0, used.inputTokens - charged.inputTokens),
    outputTokens: Math.max(0, used.outputTokens - charged.outputTokens),
    costUsd: usdOf(nanoUsd({ outputTokens: 0 }) + nanoUsd({ inputTokens: 0 })),
  };
}

/** The parts of tokens, none larger than its whole. */
export function partsWithin({ inputTokens, outputTokens }: Tokens, parts: UsageParts): UsageParts {
  const ofInput = (tokens: number): number => Math.min(tokens, inputTokens);
  const ofOutput = (tokens: number): number => Math.min(tokens, outputTokens);
  return {
    cachedTokens: ofInput(parts.cachedTokens),
    cacheWrittenTokens: ofInput(parts.cacheWrittenTokens),
    audioInputTokens: ofInput(parts.audioInputTokens),
    imageInputTokens: ofInput(parts.imageInputTokens),
    reasoningTokens: ofOutput(parts.reasoningTokens),
    audioOutputTokens: ofOutput(parts.audioOutputTokens),
    imageOutputTokens: ofOutput(parts.imageOutputTokens),
    inputSeconds: parts.inputSeconds,
  };
}

function inputOf(estimate: TokenEstimate, measure: Measure, answered: BilledAnswer | null): number {
  const usage = answered?.usage.reported;
  const total = measure.kind === "input-tokens" ? usage?.totalTokens : null;
  const reported = usage?.inputTokens ?? total ?? null;
  if (reported === null) return estimate.inputTokens;
  return isOver(answered) || answered?.stream === true ? reported : Math.max(estimate.inputTokens, reported);
}

function outputOf(
  { hidden_reasoning }: Pick<ModelRecord, "hidden_reasoning">,
  estimate: TokenEstimate,
  measure: Measure,
  answered: BilledAnswer | null,
): number {
  if (measure.kind === "input-tokens") return 0;
  const leftTokens = Math.min(estimate.outputTokens, LEFT_OUTPUT_MAX);
  if (answered === null) return leftTokens;
  if (isEmpty(answered)) return 0;
  const { complete, stream, usage } = answered;
  const { reported, outputReported, upToDate, seenTokens } = usage;
  const reportedTokens = reported?.outputTokens ?? 0;
  if (isOver(answered) && outputReported) return upToDate ? reportedTokens : Math.max(reportedTokens, seenTokens);
  // An upstream that reports only its input, to the end, has produced nothing that is counted in tokens.
  if (complete && reported !== null && reported.inputTokens !== null && reported.outputTokens === null)
    return seenTokens;
  const leastTokens = complete ? estimate.outputTokens : stream && !hidden_reasoning ? 0 : leftTokens;
  return Math.max(leastTokens, reportedTokens, seenTokens);
}

/** True when nothing more was to come. */
function isOver(answered: BilledAnswer | null): boolean {
  return answered !== null && (answered.complete || answered.usage.final);
}

function isEmpty(answered: BilledAnswer | null): boolean {
  return answered?.complete === true && answered.usage.bytes === 0;
}

/**
 * The tokens of both parts, at most the largest amount (docs/rules/budgets.md#amounts): an upstream may report any
 * number.
 */
export function totalTokens({ inputTokens, outputTokens }: Tokens): number {
  return saturated(inputTokens + outputTokens);
}

/**
 * The client's status for an upstream status: 2xx, 4xx, 520 to 529 unchanged, all others 502
 * (docs/rules/upstream-calls.md#answers).
 */
export function clientStatus(upstreamStatus: number): number {
  const [hundreds, tens] = [Math.floor(upstreamStatus / 100), Math.floor(upstreamStatus / 10)];
  return hundreds === 2 || hundreds === 4 || tens === 52 ? upstreamStatus : 502;
}
