/**
 * The score of every candidate and the choice (docs/rules/auto-router.md#scores). Every score is a number from 0 to 1, for any
 * prices, caps and counts in the records.
 */
import type { ModelRecord } from "../../../../shared/records.ts";

/** The cap of a model that states none, in requests. */
const DEFAULT_CAP = 8;
const SPARE_SHARE = 0.6;
const COST_SHARE = 0.4;
const TAGS_SHARE = 0.5;

/** A candidate with its score and the terms of it, each from 0 to 1. */
export interface ScoredModel {
  readonly model: ModelRecord;
  readonly score: number;
  /** The free part of its slots. */
  readonly spare: number;
  /** 1 for the cheapest of the candidates, 0 for the most expensive. */
  readonly cost: number;
  /** How many of the desired tags it has. */
  readonly overlap: number;
}

/**
 * The candidates, the best first; equal scores by name. `inFlightOf`: how many requests of this model hold a slot of
 * the cell.
 */
export function rankModels(
  candidates: readonly ModelRecord[],
  desiredTags: readonly string[],
  inFlightOf: (modelName: string) => number,
): readonly ScoredModel[] {
  const costOf = costTerm(candidates);
  const desired = new Set(desiredTags);
  return candidates
    .map((model) => {
      const spare = spareOf(model, inFlightOf(model.model_name));
      const cost = costOf(model);
      const overlap = new Set(model.tags.filter((tag) => desired.has(tag))).size;
      const base = SPARE_SHARE * spare + COST_SHARE * cost;
      const score = desired.size === 0 ? base : TAGS_SHARE * (overlap / desired.size) + (1 - TAGS_SHARE) * base;
      return { model, score, spare, cost, overlap };
    })
    .sort((a, b) => b.score - a.score || (a.model.model_name < b.model.model_name ? -1 : 1));
}

/** The tags that the candidates have, sorted, without duplicates. */
export function vocabularyOf(candidates: readonly ModelRecord[]): readonly string[] {
  return [...new Set(candidates.flatMap(({ tags }) => tags))].sort();
}

function spareOf({ max_in_flight: stated }: ModelRecord, inFlight: number): number {
  const cap = stated !== null && stated > 0 ? stated : DEFAULT_CAP;
  return Number.isFinite(inFlight) ? Math.min(Math.max(1 - inFlight / cap, 0), 1) : 0;
}

function costTerm(candidates: readonly ModelRecord[]): (model: ModelRecord) => number {
  const prices = candidates.map(priceOf);
  const min = prices.reduce((least, price) => Math.min(least, price), Number.MAX_VALUE);
  const max = prices.reduce((most, price) => Math.max(most, price), 0);
  return (model) => (max > min ? (max - priceOf(model)) / (max - min) : 1);
}

/** USD for one input token and one output token, from 0 to the largest number. */
function priceOf({ prices: { input, output } }: ModelRecord): number {
  const price = input + output;
  return Number.isNaN(price) ? Number.MAX_VALUE : Math.min(Math.max(price, 0), Number.MAX_VALUE);
}
