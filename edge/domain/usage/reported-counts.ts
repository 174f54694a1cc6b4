/**
 * The counts that an answer reports, and their combined meaning (docs/rules/settlement-and-rows.md#parts-of-tokens). Upstreams
 * write the same things in two ways. Most report the whole input and, in an object of details, the part that came from a cache.
 * Anthropic reports the input without that part, and each part beside it: there the whole is their sum. Every count is that of
 * the last report that has it.
 */
import { saturated } from "../../../shared/money/amount.ts";
import { Name } from "./answer-names.ts";

/** The last counts under each name; null: none. Tokens are amounts (shared/money/amount.ts), times are in ms. */
export interface ReportedCounts {
  readonly input: number | null;
  /** The input was written as `input_tokens`, which may leave out the cached part. */
  readonly inputMayBeRest: boolean;
  readonly output: number | null;
  readonly total: number | null;
  /** `cached_tokens` of the details of the input: the input is whole. */
  readonly cached: number | null;
  readonly cacheRead: number | null;
  readonly cacheWritten: number | null;
  /** `cache_write_tokens` of the details of the input: the input is whole. */
  readonly cacheWrite: number | null;
  readonly reasoning: number | null;
  readonly audioIn: number | null;
  readonly audioOut: number | null;
  readonly imageIn: number | null;
  readonly imageOut: number | null;
  /** `seconds` of the usage, and `duration` of the whole answer: how long the audio was. */
  readonly usageMs: number | null;
  readonly durationMs: number | null;
}

/** No report has come. */
export const NO_COUNTS: ReportedCounts = {
  input: null,
  inputMayBeRest: false,
  output: null,
  total: null,
  cached: null,
  cacheRead: null,
  cacheWritten: null,
  cacheWrite: null,
  reasoning: null,
  audioIn: null,
  audioOut: null,
  imageIn: null,
  imageOut: null,
  usageMs: null,
  durationMs: null,
};

/** Parts of an answer's bill as reported; 0 for a part that was not reported. */
export interface UsageParts {
  /** Tokens of the input that the upstream took from a cache. */
  readonly cachedTokens: number;
  /** Tokens of the input that the upstream put into a cache. */
  readonly cacheWrittenTokens: number;
  /** Tokens of the output that the model spent on reasoning. */
  readonly reasoningTokens: number;
  readonly audioInputTokens: number;
  readonly audioOutputTokens: number;
  readonly imageInputTokens: number;
  readonly imageOutputTokens: number;
  /** Seconds of the audio that was read, in whole milliseconds. */
  readonly inputSeconds: number;
}

/** No part was reported. */
export const NO_PARTS: UsageParts = {
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
  imageInputTokens: 0,
  imageOutputTokens: 0,
  inputSeconds: 0,
};

/** The counts with one more, which was written under this name (a {@link Name} of a count) within these `details`. */
export function withCount(counts: ReportedCounts, name: number, value: number, details: number): ReportedCounts {
  const isOutput = details === Name.OutputDetails;
  switch (name) {
    case Name.InputCount:
      return { ...counts, input: value, inputMayBeRest: false };
    case Name.InputOrRest:
      return { ...counts, input: value, inputMayBeRest: true };
    case Name.OutputCount:
      return { ...counts, output: value };
    case Name.TotalCount:
      return { ...counts, total: value };
    case Name.CachedCount:
      return { ...counts, cached: value };
    case Name.CacheReadCount:
      return { ...counts, cacheRead: value };
    case Name.CacheWrittenCount:
      return { ...counts, cacheWritten: value };
    case Name.ReasoningCount:
      return { ...counts, reasoning: value };
    case Name.CacheWriteCount:
      return { ...counts, cacheWrite: value };
    case Name.AudioCount:
      return isOutput ? { ...counts, audioOut: value } : { ...counts, audioIn: value };
    case Name.ImageCount:
      return isOutput ? { ...counts, imageOut: value } : { ...counts, imageIn: value };
    case Name.Seconds:
      return { ...counts, usageMs: value };
    case Name.Duration:
      return { ...counts, durationMs: value };
    default:
      return counts;
  }
}

/** The counts of an earlier document and a later one: a later count replaces an earlier one of its name. */
export function mergedCounts(earlier: ReportedCounts, later: ReportedCounts): ReportedCounts {
  if (later === NO_COUNTS) return earlier;
  return {
    input: later.input ?? earlier.input,
    inputMayBeRest: later.input === null ? earlier.inputMayBeRest : later.inputMayBeRest,
    output: later.output ?? earlier.output,
    total: later.total ?? earlier.total,
    cached: later.cached ?? earlier.cached,
    cacheRead: later.cacheRead ?? earlier.cacheRead,
    cacheWritten: later.cacheWritten ?? earlier.cacheWritten,
    cacheWrite: later.cacheWrite ?? earlier.cacheWrite,
    reasoning: later.reasoning ?? earlier.reasoning,
    audioIn: later.audioIn ?? earlier.audioIn,
    audioOut: later.audioOut ?? earlier.audioOut,
    imageIn: later.imageIn ?? earlier.imageIn,
    imageOut: later.imageOut ?? earlier.imageOut,
    usageMs: later.usageMs ?? earlier.usageMs,
    durationMs: later.durationMs ?? earlier.durationMs,
  };
}

/** The counts of two answers of one list: only whole counts are reported there. */
export function addedCounts(one: ReportedCounts, other: ReportedCounts): ReportedCounts {
  return {
    ...other,
    input: sumOf(one.input, other.input),
    output: sumOf(one.output, other.output),
    total: sumOf(one.total, other.total),
  };
}

function sumOf(one: number | null, other: number | null): number | null {
  return one === null ? other : saturated(one + (other ?? 0));
}

/** The tokens of the whole input, at most the largest amount; null when no input was reported. */
export function wholeInput(counts: ReportedCounts): number | null {
  const { input, cacheRead, cacheWritten } = counts;
  if (input === null || !counts.inputMayBeRest || (counts.cached ?? counts.cacheWrite) !== null) return input;
  return saturated(input + (cacheRead ?? 0) + (cacheWritten ?? 0));
}

/** The parts. They may exceed their wholes: an upstream may report anything, and the billing code compares them. */
export function partsOf(counts: ReportedCounts): UsageParts {
  if (counts === NO_COUNTS) return NO_PARTS;
  return {
    cachedTokens: counts.cached ?? counts.cacheRead ?? 0,
    cacheWrittenTokens: counts.cacheWrite ?? counts.cacheWritten ?? 0,
    reasoningTokens: counts.reasoning ?? 0,
    audioInputTokens: counts.audioIn ?? 0,
    audioOutputTokens: counts.audioOut ?? 0,
    imageInputTokens: counts.imageIn ?? 0,
    imageOutputTokens: counts.imageOut ?? 0,
    inputSeconds: (counts.usageMs ?? counts.durationMs ?? 0) / 1000,
  };
}
