/**
 * Scores of sentences for a question by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009): each
 * sentence is a document, all sentences of a request are the collection. The question is extended by words of the sentences
 * that fit it best, so that a sentence with other words can be found. Linear in the text, except for one sort.
 */

/** How soon further occurrences of a word count less, and how much the length of a sentence matters. */
const K1 = 1.2;
const B = 0.75;
/** The best sentences whose words extend the question, how many words they give, and the weight of such a word. */
const FEEDBACK_SENTENCES = 3;
const FEEDBACK_TERMS = 10;
const FEEDBACK_WEIGHT = 0.3;
/** The part of a good sentence's score that its neighbours get: an answer often needs the sentence beside it. */
const NEIGHBOUR_WEIGHT = 0.15;

interface Indexed {
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

/** Scores of the sentences of each segment: finite, at least 0, the higher the better. */
export function scoreSentences(segments: readonly (readonly string[])[], query: string): number[][] {
  const indexed = segments.map((sentences) => sentences.map(indexOf));
  const all = indexed.flat();
  const rarity = rarityOf(all);
  const averageLength = all.reduce((sum, { length }) => sum + length, 0) / Math.max(all.length, 1);
  const score = (terms: ReadonlyMap<string, number>, sentence: Indexed): number => {
    let sum = 0;
    for (const [term, weight] of terms) {
      const count = sentence.counts.get(term) ?? 0;
      const norm = K1 * (1 - B + (B * sentence.length) / Math.max(averageLength, 1));
      sum += (weight * (rarity.get(term) ?? 0) * count * (K1 + 1)) / (count + norm);
    }
    return sum;
  };
  const asked = new Map([...indexOf(query).counts.keys()].map((term) => [term, 1]));
  const terms = new Map([...feedbackOf(all, (sentence) => score(asked, sentence), rarity), ...asked]);
  return indexed.map((sentences) => withNeighbours(sentences.map((sentence) => score(terms, sentence))));
}

/** Words with their inverse document frequency. */
function rarityOf(sentences: readonly Indexed[]): ReadonlyMap<string, number> {
  const frequency = new Map<string, number>();
  for (const { counts } of sentences) {
    for (const term of counts.keys()) frequency.set(term, (frequency.get(term) ?? 0) + 1);
  }
  const total = sentences.length;
  return new Map([...frequency].map(([term, found]) => [term, Math.log(1 + (total - found + 0.5) / (found + 0.5))]));
}

/** The rarest words of the best sentences. */
function feedbackOf(
  sentences: readonly Indexed[],
  score: (sentence: Indexed) => number,
  rarity: ReadonlyMap<string, number>,
): readonly (readonly [string, number])[] {
  const best = sentences
    .map((sentence) => ({ sentence, value: score(sentence) }))
    .filter(({ value }) => value > 0)
    .sort((one, other) => other.value - one.value)
    .slice(0, FEEDBACK_SENTENCES);
  const words = new Set(best.flatMap(({ sentence }) => [...sentence.counts.keys()]));
  return [...words]
    .sort((one, other) => (rarity.get(other) ?? 0) - (rarity.get(one) ?? 0))
    .slice(0, FEEDBACK_TERMS)
    .map((term) => [term, FEEDBACK_WEIGHT] as const);
}

function withNeighbours(scores: readonly number[]): number[] {
  return scores.map((score, at) => score + NEIGHBOUR_WEIGHT * Math.max(scores[at - 1] ?? 0, scores[at + 1] ?? 0));
}

function indexOf(text: string): Indexed {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const counts = new Map<string, number>();
  for (const word of words) {
    const term = stemOf(word);
    counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  return { counts, length: words.length };
}

/** A word without the most common English endings, if enough of it is left. */
function stemOf(word: string): string {
  const stem = word.replace(/(?:ingly|edly|ing|ies|ied|ed|es|s|e|y)$/, "");
  return stem.length >= 3 ? stem : word;
}
